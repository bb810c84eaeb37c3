// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// route is one way of a producer's output to whoever sees its end.
type route struct {
	name     string // of the figure, after "flow."
	note     string
	producer *producer
	pane     string // of ours; "" for others
	pids     []int  // worker and spawnd of ours; nil for others
	// see returns when all output of a round has been seen.
	see   func(ctx context.Context, mark string) error
	close func()

	speeds []float64 // MB/s, one for each round
	costs  []float64 // CPU seconds of pids for each GB; for the floor, ours
	shares []float64 // the worker's part of costs
	bounds []float64 // MB/s that the processors could move if none ever waited
	shown  *viewer   // of ours alone; nil otherwise
}

// measureFlow sends a large file through every route, by turns, so that what else the machine does hits all.
func measureFlow(ctx context.Context, b *bench) error {
	names := append([]string{"worker", "viewer", "history", "attach"}, peerNames()...)
	var wanted []string
	for _, name := range names {
		if b.wants("flow."+name, "flow."+name+".cpu", "flow."+name+".bound") {
			wanted = append(wanted, name)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	if err := b.lab.serve(ctx); err != nil {
		return err
	}
	text, err := makeText(b.lab, b.effort(64_000_000, 8_000_000))
	if err != nil {
		return err
	}
	routes, err := openRoutes(ctx, b.lab, text, wanted)
	defer closeRoutes(routes)
	if err != nil {
		return err
	}
	for range b.effort(5, 3) {
		for _, r := range routes {
			if err := r.round(ctx); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	reportRoutes(b, routes)
	return nil
}

func peerNames() []string {
	var names []string
	for _, p := range peers {
		if p.installed() {
			names = append(names, p.name)
		}
	}
	return names
}

// openRoutes returns the floor and the named routes; on an error, those that were opened.
func openRoutes(ctx context.Context, l *lab, text textFile, names []string) ([]*route, error) {
	var routes []*route
	for _, name := range append([]string{"floor"}, names...) {
		p, err := newProducer(l, text, false)
		if err != nil {
			return routes, err
		}
		r := &route{name: name, producer: p, close: p.close}
		routes = append(routes, r)
		if err := r.open(ctx, l); err != nil {
			return routes, fmt.Errorf("%s: %w", name, err)
		}
	}
	return routes, nil
}

func closeRoutes(routes []*route) {
	for _, r := range routes {
		r.close()
	}
}

func (r *route) open(ctx context.Context, l *lab) error {
	switch r.name {
	case "floor":
		return r.openFloor(ctx, l)
	case "worker", "viewer", "history", "attach":
		return r.openOurs(ctx, l)
	}
	for _, p := range peers {
		if p.name == r.name {
			t, _, err := p.open(ctx, l, "flow", r.producer.argv)
			return r.watch(t, err)
		}
	}
	return fmt.Errorf("open route: no such peer")
}

// openFloor is a PTY whose master is read into a buffer and counted.
func (r *route) openFloor(ctx context.Context, l *lab) error {
	t, err := openTerminal(ctx, l, r.producer.argv...)
	if err != nil {
		return err
	}
	r.note = "PTY read into a buffer and counted"
	r.then(t.close)
	r.see = func(context.Context, string) error { return t.skip(r.producer.produced()) }
	return nil
}

// watch makes a terminal that shows the producer, in whatever way, the end of the route.
func (r *route) watch(t *terminal, err error) error {
	if err != nil {
		return err
	}
	r.then(t.close)
	r.see = func(_ context.Context, mark string) error { return t.find(mark) }
	return nil
}

// then adds something to close.
func (r *route) then(f func()) {
	before := r.close
	r.close = func() { f(); before() }
}

func (r *route) openOurs(ctx context.Context, l *lab) error {
	pane, err := l.newPane(ctx, r.producer.argv...)
	if err != nil {
		return err
	}
	r.then(func() { _ = l.killPane(context.WithoutCancel(ctx), pane.ID) })
	workers, err := l.workerPIDs(pane)
	if err != nil {
		return err
	}
	r.pane, r.pids = pane.ID, append(workers, l.daemon.pid)
	switch r.name {
	case "worker":
		r.note = "no viewer; the end by the worker's watermark"
		return r.openUnseen(ctx, l, pane.ID)
	case "attach":
		r.note = "spawnd attach in a PTY"
		t, err := openTerminal(ctx, l, l.program("spawnd"), "attach", pane.ID)
		return r.watch(t, err)
	}
	return r.openViewer(ctx, l, pane.ID)
}

// openUnseen has no viewer while the output flows. Its end is a watermark: the worker has taken everything.
func (r *route) openUnseen(ctx context.Context, l *lab, pane string) error {
	at, err := position(ctx, l, pane)
	if err != nil {
		return err
	}
	r.see = func(ctx context.Context, _ string) error {
		at += uint64(r.producer.produced())
		if err := r.producer.wait(ctx); err != nil {
			return err
		}
		v, err := attachShown(ctx, l, pane, false)
		if err != nil {
			return err
		}
		defer v.close()
		return v.reach(at)
	}
	return nil
}

// openViewer has one local viewer, which counts what comes.
func (r *route) openViewer(ctx context.Context, l *lab, pane string) error {
	r.note = "control socket, screen and output"
	if r.name == "history" {
		r.note = "control socket, screen, output and committed lines"
	}
	v, err := attachShown(ctx, l, pane, r.name == "history")
	if err != nil {
		return err
	}
	r.shown = v
	r.then(v.close)
	end := v.position
	r.see = func(context.Context, string) error {
		end += uint64(r.producer.produced())
		return v.reach(end)
	}
	return nil
}

// round measures one run of the producer.
func (r *route) round(ctx context.Context) error {
	mark, megabytes := newMark(), float64(r.producer.produced())/1e6
	before, err := r.used()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := r.producer.start(mark); err != nil {
		return err
	}
	if err := r.see(ctx, mark); err != nil {
		return err
	}
	took := time.Since(start)
	after, err := r.used()
	if err != nil {
		return err
	}
	r.speeds = append(r.speeds, megabytes/took.Seconds())
	r.costs = append(r.costs, (after.route-before.route).Seconds()/(megabytes/1e3))
	r.shares = append(r.shares, (after.worker-before.worker).Seconds()/(megabytes/1e3))
	r.bounds = append(r.bounds, megabytes*float64(runtime.NumCPU())/max(tick, after.machine-before.machine).Seconds())
	return r.producer.wait(ctx)
}

// usage is CPU time spent up to now.
type usage struct {
	machine time.Duration // by everything
	route   time.Duration // by the route's own processes; for the floor it is us, the reader
	worker  time.Duration // of that
}

func (r *route) used() (u usage, err error) {
	u.machine, err = machineCPU()
	u.worker = processesCPU(r.pids[:min(1, len(r.pids))])
	if u.route = processesCPU(r.pids); r.name == "floor" {
		u.route = ownCPU()
	}
	return u, err
}

// reportRoutes adds the figures. The first route is the floor.
func reportRoutes(b *bench, routes []*route) {
	floor := routes[0]
	for _, r := range routes {
		speed := figure{Name: "flow." + r.name, Value: median(r.speeds), Unit: "MB/s", Note: r.note + r.losses()}
		if r != floor {
			speed = speed.paired(median(floor.speeds), median(ratios(r.speeds, floor.speeds)))
		}
		b.add(speed)
		b.add(figure{Name: "flow." + r.name + ".bound", Value: median(r.bounds), Unit: "MB/s",
			Note: "what the processors could do at this cost, the program's and the kernel's too, if they never rested"}.over(median(floor.speeds)))
		if len(r.pids) > 0 {
			b.add(figure{Name: "flow." + r.name + ".cpu", Value: median(r.costs), Unit: "CPU-s/GB", Note: fmt.Sprintf("of it worker %.3g, the rest spawnd; floor: the reader", median(r.shares))}.
				paired(median(floor.costs), median(ratios(r.costs, floor.costs))))
		}
	}
}

// losses tells of a viewer that was repainted instead of getting all output.
func (r *route) losses() string {
	if r.shown == nil || r.shown.replays == 1 {
		return ""
	}
	all := len(r.speeds) * r.producer.produced()
	return fmt.Sprintf("; repainted %d times, %.0f %% of the bytes came", r.shown.replays-1, 100*float64(r.shown.received)/float64(all))
}
