// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"spawn/internal/supervisor/doctor"
	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/topology"
)

// checks are the doctor's questions about checkpoints and archives. What they say holds counts, codes and times,
// never a name, a path or a text.
func (k *keeper) checks() []doctor.Check {
	return []doctor.Check{
		{Name: "recovery.store", Probe: k.probeStore,
			Why:    "After a reboot there is what the last checkpoint has, and no more.",
			Remedy: "See what is in the folder of checkpoints, who owns it and whether it has room; `spawnd recovery list` names what is invalid."},
		{Name: "recovery.archives", Probe: k.probeArchives,
			Why:    "A restored pane shows what was last seen of a terminal, as far as it could be kept.",
			Remedy: "Rows that were wider than their terminal are shown cut; the checkpoint still has them."},
		{Name: "recovery.cleanup_unverified", Probe: k.probeCleanup,
			Why:    "Processes of restored terminals, or what they started elsewhere, may still be at work; nobody here can know.",
			Remedy: "Look for them with the tools of the system before you relaunch what they did. Closing or relaunching the archives does not end them."},
	}
}

func (k *keeper) probeStore(context.Context, doctor.Env) doctor.Finding {
	p := k.policy()
	var s recovery.Stats
	_, err := k.list() // tries the folder, and brings the counts up to date
	if store, missing := k.store(); missing == nil {
		if p.Enabled && err == nil {
			err = store.Probe()
		}
		s = store.Stats()
	}
	told := []string{
		fmt.Sprintf("every %v, at most %d of %d bytes, for %v, text %s of at most %d rows and %d bytes, for %v", p.Interval, p.MaxCheckpoints, p.MaxBytes,
			time.Duration(p.MaxAge)*time.Second, p.Text, p.TextMaxRows, p.TextMaxBytes, time.Duration(p.TextMaxAge)*time.Second),
		fmt.Sprintf("%d valid, %d invalid (%d unsafe), %d expired, %d bytes", s.Valid, s.Invalid, s.Unsafe, s.Expired, s.Bytes),
		"last attempt " + moment(s.LastAttempt) + ", last success " + moment(s.LastSuccess),
	}
	if s.UnsafeTemps > 0 {
		told = append(told, fmt.Sprintf("%d unsafe temporary files", s.UnsafeTemps))
	}
	status := doctor.Info
	if p.Enabled {
		status = doctor.OK
	} else {
		told = append([]string{"checkpoints are switched off"}, told...)
	}
	faults := map[string]recovery.Code{"the folder": recovery.CodeOf(err), "the last attempt": s.LastError, "the last removal": s.LastPruneError}
	for _, what := range []string{"the folder", "the last attempt", "the last removal"} {
		if code := faults[what]; code != "" {
			told = append(told, what+" failed with "+string(code))
			if p.Enabled {
				status = doctor.Error
			}
		}
	}
	if p.Enabled && (s.Unsafe > 0 || s.UnsafeTemps > 0) {
		status = doctor.Error
	}
	return doctor.Finding{Status: status, Message: strings.Join(told, "; ")}
}

func moment(at recovery.Millis) string {
	if at == 0 {
		return "never"
	}
	return at.Time().Format(time.RFC3339)
}

func (k *keeper) probeArchives(context.Context, doctor.Env) doctor.Finding {
	archives, cut, strange := 0, uint64(0), 0
	presets := k.panes.inForce.floatPresets()
	for _, p := range k.panes.current().Panes {
		if p.Archive == nil {
			continue
		}
		archives++
		cut += p.Archive.CutRows
		if p.Float != nil {
			if _, known := presets.Resolve(*p.Float); !known {
				strange++
			}
		}
	}
	status, message := doctor.OK, fmt.Sprintf("%d archives, %d rows cut", archives, cut)
	if strange > 0 {
		message += fmt.Sprintf(", %d floats laid out by %s: their own preset is not there", strange, topology.FloatsDefault)
	}
	if cut > 0 || strange > 0 {
		status = doctor.Warn
	}
	return doctor.Finding{Status: status, Message: message}
}

func (k *keeper) probeCleanup(context.Context, doctor.Env) doctor.Finding {
	k.mu.Lock()
	restored := k.mu.restored
	k.mu.Unlock()
	if restored {
		return doctor.Finding{Status: doctor.Warn, Message: "cleanup_unverified: a checkpoint was restored, and whether its processes ended is not known"}
	}
	return doctor.Finding{Status: doctor.OK, Message: "nothing was restored since spawnd started"}
}
