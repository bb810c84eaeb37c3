// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"spawn/internal/supervisor/verbs"
)

const (
	// startsAtOnce is how many terminals are asked for at the same time, closesAtOnce how many are ended. An
	// interactive shell ignores TERM, so each close takes spawnd's two seconds of patience.
	startsAtOnce = 8
	closesAtOnce = 200
	// idleTime has one of each terminal's slow looks in it, which come once a minute.
	idleTime = time.Minute
	// settleTime is how long a worker looks often for who owns its keyboard, after its terminal has moved.
	settleTime = 5 * time.Second
)

// measureIdle keeps many idle shells: how fast they start, are listed, adopted by a new spawnd and closed, and what
// they cost meanwhile.
func measureIdle(ctx context.Context, b *bench) error {
	names := []string{"idle.start", "idle.list", "idle.adopt", "idle.close", "idle.worker.pss", "idle.spawnd.rss", "idle.spawnd.goroutines", "idle.cpu"}
	if !b.wants(names...) {
		return nil
	}
	if err := b.lab.serve(ctx); err != nil {
		return err
	}
	if err := measureStart(ctx, b); err != nil {
		return err
	}
	if err := measureList(ctx, b); err != nil {
		return err
	}
	if err := measureCost(ctx, b); err != nil {
		return err
	}
	if err := measureGoroutines(ctx, b); err != nil {
		return err
	}
	if err := measureAdoption(ctx, b); err != nil {
		return err
	}
	return measureClose(ctx, b)
}

func (b *bench) idleNote(format string, args ...any) string {
	return fmt.Sprintf("%d idle shells; ", b.terminals) + fmt.Sprintf(format, args...)
}

func measureStart(ctx context.Context, b *bench) error {
	floor, err := bareStart(ctx, b)
	if err != nil {
		return err
	}
	start := time.Now()
	tasks, inner := errgroup.WithContext(ctx)
	tasks.SetLimit(startsAtOnce)
	for range b.terminals {
		tasks.Go(func() error {
			_, err := b.lab.newPane(inner, "/bin/sh")
			return err
		})
	}
	if err := tasks.Wait(); err != nil {
		return err
	}
	b.add(figure{Name: "idle.start", Value: time.Since(start).Seconds(), Unit: "s",
		Note: b.idleNote("%d asked for at once; floor: the same shells on bare PTYs, one after the other", startsAtOnce)}.over(floor))
	return nil
}

// bareStart is how long the shells alone take, in seconds.
func bareStart(ctx context.Context, b *bench) (float64, error) {
	var shells []*terminal
	defer func() {
		for _, t := range shells {
			t.close()
		}
	}()
	start := time.Now()
	for range b.terminals {
		t, err := openTerminal(ctx, b.lab, "/bin/sh")
		if err != nil {
			return 0, err
		}
		shells = append(shells, t)
	}
	return time.Since(start).Seconds(), nil
}

func measureList(ctx context.Context, b *bench) error {
	var took []float64
	for range b.effort(15, 5) {
		start := time.Now()
		panes, err := b.lab.panes(ctx)
		if err != nil {
			return err
		}
		took = append(took, millis(time.Since(start)))
		if len(panes) != b.terminals {
			return fmt.Errorf("list: %d terminals of %d", len(panes), b.terminals)
		}
	}
	b.add(figure{Name: "idle.list", Value: median(took), Unit: "ms", Note: b.idleNote("pane.list")})
	return nil
}

// measureCost reads memory and, over a while in which nothing happens, CPU clocks.
func measureCost(ctx context.Context, b *bench) error {
	panes, err := b.lab.panes(ctx)
	if err != nil {
		return err
	}
	workers, err := b.lab.workerPIDs(panes...)
	if err != nil {
		return err
	}
	all := append([]int{b.lab.daemon.pid}, workers...)
	if b.wants("idle.cpu") {
		if err := measureIdleCPU(ctx, b, all); err != nil {
			return err
		}
	}
	var pss []float64
	for _, pid := range workers {
		kib, err := kibibytes(pid, "smaps_rollup", "Pss")
		if errors.Is(err, os.ErrPermission) {
			break // a worker lets nobody but root look at its memory
		}
		if err != nil {
			return err
		}
		pss = append(pss, kib/1024)
	}
	if len(pss) > 0 {
		b.add(figure{Name: "idle.worker.pss", Value: median(pss), Unit: "MiB", Note: b.idleNote("the shell apart")})
	}
	rss, err := kibibytes(b.lab.daemon.pid, "status", "VmRSS")
	if err != nil {
		return err
	}
	b.add(figure{Name: "idle.spawnd.rss", Value: rss / 1024, Unit: "MiB", Note: b.idleNote("no viewer")})
	return nil
}

func measureIdleCPU(ctx context.Context, b *bench, pids []int) error {
	if err := pass(ctx, settleTime); err != nil {
		return err
	}
	before, start := processesCPU(pids), time.Now()
	if err := pass(ctx, time.Duration(b.effort(int(idleTime), int(3*time.Second)))); err != nil {
		return err
	}
	used := processesCPU(pids) - before
	b.add(figure{Name: "idle.cpu", Value: 100 * used.Seconds() / time.Since(start).Seconds(), Unit: "% of a core", Note: b.idleNote("spawnd and workers")})
	return nil
}

// pass lets time pass in which nothing happens.
func pass(ctx context.Context, d time.Duration) error {
	quiet := time.NewTimer(d)
	defer quiet.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-quiet.C:
		return nil
	}
}

// measureGoroutines lets spawnd crash in the way that makes it tell of each goroutine, and starts another.
func measureGoroutines(ctx context.Context, b *bench) error {
	if !b.wants("idle.spawnd.goroutines") {
		return nil
	}
	n, err := b.lab.crashTold()
	if err != nil {
		return err
	}
	b.add(figure{Name: "idle.spawnd.goroutines", Value: float64(n) / float64(b.terminals), Unit: "a terminal", Note: b.idleNote("%d in all", n)})
	return b.lab.start(ctx)
}

// measureAdoption kills spawnd and starts another. Its address comes when it has adopted all.
func measureAdoption(ctx context.Context, b *bench) error {
	b.lab.crash()
	start := time.Now()
	if err := b.lab.start(ctx); err != nil {
		return err
	}
	took := time.Since(start).Seconds()
	panes, err := b.lab.panes(ctx)
	if err != nil {
		return err
	}
	running := 0
	for _, p := range panes {
		if p.State == verbs.PaneRunning {
			running++
		}
	}
	b.add(figure{Name: "idle.adopt", Value: took, Unit: "s",
		Note: b.idleNote("after SIGKILL, from starting spawnd to its address; %d running", running)})
	return nil
}

func measureClose(ctx context.Context, b *bench) error {
	start := time.Now()
	if err := closeAll(ctx, b.lab); err != nil {
		return err
	}
	b.add(figure{Name: "idle.close", Value: time.Since(start).Seconds(), Unit: "s",
		Note: b.idleNote("%d at once; a shell ignores TERM, so each takes the 2 s before KILL", closesAtOnce)})
	return nil
}

// closeAll ends all terminals.
func closeAll(ctx context.Context, l *lab) error {
	panes, err := l.panes(ctx)
	if err != nil {
		return err
	}
	tasks, inner := errgroup.WithContext(ctx)
	tasks.SetLimit(closesAtOnce)
	for _, p := range panes {
		tasks.Go(func() error { return l.killPane(inner, p.ID) })
	}
	return tasks.Wait()
}

// measureSizes reports how large the released programs are.
func measureSizes(ctx context.Context, b *bench) error {
	if !b.wants("size.spawnd", "size.spawn-worker") {
		return nil
	}
	if err := b.lab.build(ctx); err != nil {
		return err
	}
	for _, name := range []string{"spawnd", "spawn-worker"} {
		st, err := os.Stat(b.lab.program(name))
		if err != nil {
			return fmt.Errorf("look at %s: %w", name, err)
		}
		b.add(figure{Name: "size." + name, Value: float64(st.Size()) / 1e6, Unit: "MB", Note: "-trimpath -ldflags '-s -w'"})
	}
	return nil
}
