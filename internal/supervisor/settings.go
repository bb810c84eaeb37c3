// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"net/netip"
	"time"

	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/events"
	"spawn/internal/supervisor/fleet"
	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/topology"
)

// openSettings reads the settings file, once its folder is ours alone. Flags win over it.
func (s *Supervisor) openSettings(folders config.Folders) error {
	live, err := config.OpenLive(config.OpenFile(folders.Settings()), func(c *config.Config) {
		if s.o.Listen != "" {
			c.Serve.Listen = s.o.Listen
		}
		if s.o.PeerPort != nil {
			c.Serve.PeerPort = int64(*s.o.PeerPort)
		}
	})
	if err != nil {
		return err
	}
	s.settings, s.inForce = live, live.Effective
	return nil
}

// watchSettings puts changes of the file in force until ctx ends.
func (s *Supervisor) watchSettings(ctx context.Context) {
	look := time.NewTicker(config.PollEvery)
	defer look.Stop()
	s.settings.Watch(ctx, look.C, s.noteReload)
}

func (s *Supervisor) noteReload(out config.Outcome, err error) {
	if err != nil {
		s.o.Log.Warn("changed settings are not in force", "error", err)
		return
	}
	if len(out.Changed) > 0 {
		s.panes.happened(events.Change{Type: events.ConfigReloaded, Resource: topology.Root, Data: map[string]any{"keys": out.Changed}})
	}
	s.o.Log.Info("changed settings are read", "in_force", out.Changed, "at_next_start", out.NeedsRestart)
}

// inForce tells the settings that are in force now, each in the words of the room that goes by it. A key that
// no line here reads, or a line that nobody asks, would be a setting without effect; a test looks for both.
type inForce func() config.Config

// listen is the address of the page. It is read once, at start.
func (now inForce) listen() string { return now().Serve.Listen }

// peers is the address of the channels: that of the page with a port of their own, 0 to pick one. It is
// read once, at start.
func (now inForce) peers(page netip.Addr) netip.AddrPort {
	return netip.AddrPortFrom(page, uint16(now().Serve.PeerPort))
}

// shellCommand is what a new terminal runs; empty is the login shell.
func (now inForce) shellCommand() []string { return now().Shell.Command }

// shellIntegration reports whether a new terminal's shell is given the scripts of package shellmarks.
func (now inForce) shellIntegration() bool { return now().Shell.Integration }

// terminalSize is what a terminal has until somebody attaches.
func (now inForce) terminalSize() (cols, rows uint16) {
	t := now().Terminal
	return uint16(t.Cols), uint16(t.Rows)
}

// terminalLimits are those of a new terminal's scope.
func (now inForce) terminalLimits() fleet.Limits {
	t := now().Terminal
	return fleet.Limits{MemoryMaxBytes: uint64(t.MemoryMaxBytes), TasksMax: uint64(t.TasksMax), CPUWeight: uint64(t.CPUWeight)}
}

// terminalLog bounds a new terminal's encrypted log.
func (now inForce) terminalLog() fleet.LogBounds {
	t := now().Terminal
	return fleet.LogBounds{Max: int(t.LogBytes), Segment: int(t.LogSegmentBytes)}
}

// viewersMax is how many viewers one terminal may have.
func (now inForce) viewersMax() int { return int(now().Viewers.Max) }

// unknown is what a caller may do of whom nothing is known.
// floatPresets are those that floats may name.
func (now inForce) floatPresets() topology.Presets {
	presets := topology.Presets{}
	for _, p := range now().Floats.Presets {
		presets[p.Name] = p.Geometry
	}
	return presets
}

func (now inForce) unknown() access.UnknownPolicy {
	if now().Access.Unknown == config.UnknownRead {
		return access.UnknownReads
	}
	return access.UnknownNothing
}

// shareMax is how long a new share link may be good.
func (now inForce) shareMax() time.Duration {
	return time.Duration(now().Access.ShareMaxSeconds) * time.Second
}

// recovery is what governs checkpoints.
func (now inForce) recovery() recovery.Policy { return recoveryPolicy(now()) }

// endsTerminals reports whether a signal to spawnd, or a server.shutdown that leaves it open, ends the
// terminals too.
func (now inForce) endsTerminals() bool { return now().Shutdown.Sessions == config.SessionsTerminate }

// recoveryPolicy is for settings that are not in force yet, too.
func recoveryPolicy(c config.Config) recovery.Policy {
	r := c.Recovery
	p := recovery.Policy{
		Enabled: r.Enabled, Interval: time.Duration(r.IntervalMS) * time.Millisecond, MaxCheckpoints: int(r.MaxCheckpoints),
		MaxBytes: int(r.MaxCheckpointBytes), MaxAge: r.MaxAgeSeconds, Text: recovery.TextModeOff,
		TextMaxRows: int(r.TextMaxRows), TextMaxBytes: int(r.TextMaxBytes), TextMaxAge: r.TextMaxAgeSeconds,
	}
	if r.TerminalText == config.TextPlain {
		p.Text = recovery.TextModePlain
	}
	return p
}
