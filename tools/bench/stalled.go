// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
)

// stalledViewers is how many viewers read nothing beside the one that does.
const stalledViewers = 20

// measureStalled shows what viewers that read nothing cost the producer and the viewer that reads.
func measureStalled(ctx context.Context, b *bench) error {
	flow, echo := b.wants("stalled.flow"), b.wants("stalled.echo.p50", "stalled.echo.p99")
	if !flow && !echo {
		return nil
	}
	if err := b.lab.serve(ctx); err != nil {
		return err
	}
	text, err := makeText(b.lab, b.effort(64_000_000, 8_000_000))
	if err != nil {
		return err
	}
	if flow {
		if err := measureStalledFlow(ctx, b, text); err != nil {
			return err
		}
	}
	if echo {
		return measureStalledEcho(ctx, b, text)
	}
	return nil
}

// measureStalledFlow lets the producer run alone and beside the others, by turns.
func measureStalledFlow(ctx context.Context, b *bench, text textFile) error {
	routes, err := openRoutes(ctx, b.lab, text, []string{"viewer"})
	defer closeRoutes(routes)
	if err != nil {
		return err
	}
	r := routes[1] // the first is the bare floor
	var alone, beside []float64
	for range b.effort(5, 3) {
		if err := r.round(ctx); err != nil {
			return err
		}
		release, err := stall(ctx, b.lab, r.pane)
		if err == nil {
			err = r.round(ctx)
			release()
		}
		if err != nil {
			return err
		}
		alone, beside = append(alone, r.speeds[len(r.speeds)-2]), append(beside, r.speeds[len(r.speeds)-1])
	}
	b.add(figure{Name: "stalled.flow", Value: median(beside), Unit: "MB/s",
		Note: fmt.Sprintf("%d viewers read nothing, one does; floor: that one alone%s", stalledViewers, r.losses())}.
		paired(median(alone), median(ratios(beside, alone))))
	return nil
}

// stall attaches viewers that will read nothing beyond their first screen, so that they are there before the flow is.
func stall(ctx context.Context, l *lab, pane string) (release func(), err error) {
	var viewers []*viewer
	release = func() {
		for _, v := range viewers {
			v.close()
		}
	}
	for range stalledViewers {
		v, err := attachShown(ctx, l, pane, false)
		if err != nil {
			release()
			return nil, err
		}
		viewers = append(viewers, v)
	}
	return release, nil
}

// measureStalledEcho types beside viewers whose queues a flood has filled, and on a pane without them.
func measureStalledEcho(ctx context.Context, b *bench, text textFile) error {
	alone, err := openFlooded(ctx, b.lab, text, 0)
	defer alone.close()
	if err != nil {
		return err
	}
	beside, err := openFlooded(ctx, b.lab, text, stalledViewers)
	defer beside.close()
	if err != nil {
		return err
	}
	if err := typeKeys(ctx, []*typist{alone, beside}, b.effort(2000, 200)); err != nil {
		return err
	}
	for _, percent := range []float64{50, 99} {
		b.add(figure{Name: fmt.Sprintf("stalled.echo.p%.0f", percent), Value: micros(percentile(beside.took, percent)), Unit: "µs",
			Note: fmt.Sprintf("key and echo of the one that reads, beside %d full ones", stalledViewers)}.
			over(micros(percentile(alone.took, percent))))
	}
	return nil
}

// openFlooded makes a pane that has printed the text and now echoes, with a viewer that reads and others that don't.
func openFlooded(ctx context.Context, l *lab, text textFile, stalled int) (*typist, error) {
	t := &typist{name: "flooded", close: func() {}}
	p, err := newProducer(l, text, true)
	if err != nil {
		return t, err
	}
	t.then(p.close)
	pane, err := l.newPane(ctx, p.argv...)
	if err != nil {
		return t, err
	}
	t.then(func() { _ = l.killPane(context.WithoutCancel(ctx), pane.ID) })
	v, err := attachShown(ctx, l, pane.ID, false) // the first viewer is the one that may type
	if err != nil {
		return t, err
	}
	t.then(v.close)
	if stalled > 0 {
		release, err := stall(ctx, l, pane.ID)
		if err != nil {
			return t, err
		}
		t.then(release)
	}
	t.key = v.key
	return t, v.flood(ctx, p)
}
