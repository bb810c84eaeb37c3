// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"spawn/internal/supervisor/verbs"
)

const (
	// printers is how many of the terminals print while the checkpoint runs. They come first, so that their
	// own text is in it.
	printers = 4
	// barePrinters print on bare PTYs meanwhile: what happens to them too, the machine does, and not the terminal.
	barePrinters = 2
	// checkpointTextBytes is what each terminal has printed before: more than 10,000 rows, as many as a checkpoint takes of
	// one by default.
	checkpointTextBytes = 1_000_000
	// checkpointFileBytes is the longest file that may be configured: it takes the text of the most terminals.
	checkpointFileBytes = 64 << 20
	// quietFirst is how long the terminals are watched before the first checkpoint. Then the quiet times are as long as
	// the checkpoint before took.
	quietFirst = time.Second
)

// filledScript prints a file and tells that it has; then it becomes what it is told to.
const filledScript = `cat "$1"; echo >"$2"; shift 2; exec "$@"`

// checkpointSettings are in force while checkpoints are measured. None is written that was not asked for.
var checkpointSettings = [][2]string{
	{"recovery.interval_ms", "3600000"}, {"recovery.max_checkpoint_bytes", strconv.Itoa(checkpointFileBytes)},
	{"recovery.terminal_text", "plain"}, {"recovery.enabled", "true"},
}

// measureCheckpoint lets many terminals with a full history be saved while some of them print, and looks for how long any
// of these stood still.
func measureCheckpoint(ctx context.Context, b *bench) error {
	if !b.wants("checkpoint.stop", "checkpoint.gap", "checkpoint.delay", "checkpoint.time", "checkpoint.cpu", "checkpoint.spawnd.peak", "checkpoint.bytes") {
		return nil
	}
	if err := b.lab.serve(ctx); err != nil {
		return err
	}
	for _, s := range checkpointSettings {
		if err := b.lab.socket().Call(ctx, verbs.ConfigSet, verbs.ConfigSetParams{Path: s[0], Value: s[1]}, &verbs.ConfigSetResult{}); err != nil {
			return err
		}
	}
	if err := b.lab.reload(ctx); err != nil {
		return err
	}
	watched, err := fillTerminals(ctx, b)
	var bare []*watch
	if err == nil {
		bare, err = openBare(ctx, b.lab)
	}
	if err == nil {
		err = watchCheckpoints(ctx, b, watched, bare)
	}
	for _, w := range slices.Concat(watched, bare) {
		w.close()
	}
	return errors.Join(err, restoreSettings(ctx, b.lab), closeAll(ctx, b.lab))
}

func (l *lab) reload(ctx context.Context) error {
	return l.socket().Call(ctx, verbs.ConfigReload, verbs.Empty{}, &verbs.ConfigReloadResult{})
}

// restoreSettings removes the settings, and with the text what was saved.
func restoreSettings(ctx context.Context, l *lab) error {
	if err := os.Remove(l.dir + "/c/spawn/config.hujson"); err != nil {
		return fmt.Errorf("restore settings: %w", err)
	}
	return l.reload(ctx)
}

// fillTerminals starts the terminals, waits until each has printed its text, and watches those that print on.
func fillTerminals(ctx context.Context, b *bench) ([]*watch, error) {
	text, err := makeText(b.lab, checkpointTextBytes)
	if err != nil {
		return nil, err
	}
	filled, err := makeFIFO(filepath.Join(b.lab.dir, "fifo-filled"))
	if err != nil {
		return nil, err
	}
	defer filled.Close()
	stamps, err := stampsArgv()
	if err != nil {
		return nil, err
	}
	begin := []string{"/bin/sh", "-c", filledScript, "sh", text.path, filled.Name()}
	var watched []*watch
	for range printers {
		pane, err := b.lab.newPane(ctx, slices.Concat(begin, stamps)...)
		if err != nil {
			return watched, err
		}
		v, err := attachShown(ctx, b.lab, pane.ID, false)
		if err != nil {
			return watched, err
		}
		watched = append(watched, watchStamps(v))
	}
	tasks, inner := errgroup.WithContext(ctx)
	tasks.SetLimit(startsAtOnce)
	for range b.terminals - printers {
		tasks.Go(func() error {
			_, err := b.lab.newPane(inner, slices.Concat(begin, []string{"/bin/cat"})...)
			return err
		})
	}
	if err := tasks.Wait(); err != nil {
		return watched, err
	}
	stop := context.AfterFunc(ctx, func() { _ = filled.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	for told := 0; told < max(b.terminals, printers); {
		n, err := filled.Read(make([]byte, b.terminals))
		if err != nil {
			return watched, fmt.Errorf("wait for text: %w", err)
		}
		told += n
	}
	return watched, nil
}

// openBare starts the printers on bare PTYs, each read by a loop that does nothing else.
func openBare(ctx context.Context, l *lab) ([]*watch, error) {
	stamps, err := stampsArgv()
	if err != nil {
		return nil, err
	}
	var bare []*watch
	for range barePrinters {
		t, err := openTerminal(ctx, l, stamps...)
		if err != nil {
			return bare, err
		}
		bare = append(bare, watchStamps(t))
	}
	return bare, nil
}

// stampsArgv is this program as one that prints stamps.
func stampsArgv() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return []string{self, stampsCommand}, nil
}

// checkpointCost is what the rounds have shown.
type checkpointCost struct {
	quiet, busy stillness // the longest of all rounds
	bare        stillness // on bare PTYs, while checkpoints were written
	seconds     []float64
	cpu         []float64 // seconds of spawnd and of all workers
	spawndCPU   []float64
	last        verbs.CheckpointStatus
	bytes       int64
}

// watchCheckpoints lets quiet times and checkpoints take turns, each as long as the other.
func watchCheckpoints(ctx context.Context, b *bench, watched, bare []*watch) error {
	panes, err := b.lab.panes(ctx)
	if err != nil {
		return err
	}
	workers, err := b.lab.workerPIDs(panes...)
	if err != nil {
		return err
	}
	spawnd := b.lab.daemon.pid
	before, err := kibibytes(spawnd, "status", "VmRSS")
	if err != nil {
		return err
	}
	// 5 makes the kernel measure the peak from here on.
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", spawnd), []byte("5"), 0); err != nil {
		return fmt.Errorf("measure the peak of memory: %w", err)
	}
	var c checkpointCost
	quiet := quietFirst
	for range b.effort(5, 2) {
		from := now()
		if err := pass(ctx, quiet); err != nil {
			return err
		}
		to := now()
		cpu, own := processesCPU(workers), processCPU(spawnd)
		if err := b.lab.socket().Call(ctx, verbs.RecoveryCheckpoint, verbs.Empty{}, &verbs.CheckpointResult{}); err != nil {
			return err
		}
		end := now()
		own = processCPU(spawnd) - own
		c.cpu = append(c.cpu, (processesCPU(workers) - cpu + own).Seconds())
		c.spawndCPU = append(c.spawndCPU, own.Seconds())
		quiet = end - to
		c.seconds = append(c.seconds, quiet.Seconds())
		for _, w := range watched {
			if err := w.awaitStamp(ctx, end); err != nil {
				return err
			}
			c.quiet.lengthen(w.within(from, to))
			c.busy.lengthen(w.within(to, end))
		}
		for _, w := range bare {
			if err := w.awaitStamp(ctx, end); err != nil {
				return err
			}
			c.bare.lengthen(w.within(to, end))
		}
	}
	peak, err := kibibytes(spawnd, "status", "VmHWM")
	if err != nil {
		return err
	}
	if err := c.look(ctx, b.lab); err != nil {
		return err
	}
	c.report(b, before/1024, peak/1024)
	return nil
}

// look reads what the last checkpoint has become.
func (c *checkpointCost) look(ctx context.Context, l *lab) error {
	var list verbs.RecoveryListResult
	if err := l.socket().Call(ctx, verbs.RecoveryList, verbs.Empty{}, &list); err != nil {
		return err
	}
	if len(list.Checkpoints) == 0 {
		return errors.New("look at the checkpoint: there is none")
	}
	c.last = list.Checkpoints[len(list.Checkpoints)-1]
	found, err := filepath.Glob(l.dir + "/s/spawn/recovery/*/" + c.last.Checkpoint + ".json")
	if err != nil || len(found) != 1 {
		return errors.Join(err, fmt.Errorf("look at the checkpoint: %d files of %s", len(found), c.last.Checkpoint))
	}
	st, err := os.Stat(found[0])
	if err != nil {
		return fmt.Errorf("look at the checkpoint: %w", err)
	}
	c.bytes = st.Size()
	return nil
}

func (c *checkpointCost) report(b *bench, before, peak float64) {
	note := func(format string, args ...any) string {
		return strings.TrimSpace(fmt.Sprintf("%d terminals, %d of them print; ", b.terminals, printers) + fmt.Sprintf(format, args...))
	}
	times := func(name string, busy, bare, quiet time.Duration, what string) {
		b.add(figure{Name: "checkpoint." + name, Value: millis(busy), Unit: "ms",
			Note: note("%s; floor: on a bare PTY at the same time; without a checkpoint: %.3g", what, millis(quiet))}.over(millis(bare)))
	}
	times("stop", c.busy.stop, c.bare.stop, c.quiet.stop, "longest time between two writes of a program")
	times("gap", c.busy.gap, c.bare.gap, c.quiet.gap, "longest time between two pieces at its viewer")
	times("delay", c.busy.delay, c.bare.delay, c.quiet.delay, "longest way of a line from program to viewer")
	b.add(figure{Name: "checkpoint.time", Value: median(c.seconds), Unit: "s", Note: note("until it is durable; text of %d", c.last.TextPanes)})
	b.add(figure{Name: "checkpoint.cpu", Value: median(c.cpu), Unit: "CPU-s", Note: note("%.3g of it spawnd, the printing included", median(c.spawndCPU))})
	b.add(figure{Name: "checkpoint.spawnd.peak", Value: peak, Unit: "MiB", Note: note("resident; before: %.0f", before)})
	b.add(figure{Name: "checkpoint.bytes", Value: float64(c.bytes) / 1e6, Unit: "MB", Note: note("longest allowed: %.1f", float64(checkpointFileBytes)/1e6)})
}
