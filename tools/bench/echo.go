// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// echoKeys are typed by turns. No sequence that a peer paints with has them.
	echoKeys = "#%&+"
	// echoWarmup is how many keys are typed before those that count.
	echoWarmup = 50
)

// typist is one way from a key to its echo on the screen.
type typist struct {
	name  string // of the figures, between "echo." and the percentile
	note  string
	key   func(key byte) error // types it and waits for its echo
	close func()
	took  []time.Duration
}

// measureEcho types the same keys everywhere, by turns: what else the machine does hits all.
func measureEcho(ctx context.Context, b *bench) error {
	typists, err := openTypists(ctx, b)
	defer func() {
		for _, t := range typists {
			t.close()
		}
	}()
	if err != nil || len(typists) == 0 {
		return err
	}
	if err := typeKeys(ctx, typists, b.effort(2000, 200)); err != nil {
		return err
	}
	floor := typists[0]
	for _, percent := range []float64{50, 99} {
		bare := micros(percentile(floor.took, percent))
		b.add(figure{Name: fmt.Sprintf("echo.floor.p%.0f", percent), Value: bare, Unit: "µs", Note: floor.note})
		for _, t := range typists[1:] {
			took := micros(percentile(t.took, percent))
			b.add(figure{Name: fmt.Sprintf("echo.%s.p%.0f", t.name, percent), Value: took, Unit: "µs",
				Note: fmt.Sprintf("%+.0f µs %s", took-bare, t.note)}.over(bare))
		}
	}
	return nil
}

// typeKeys types n keys with each.
func typeKeys(ctx context.Context, typists []*typist, n int) error {
	for i := range echoWarmup + n {
		for _, t := range typists {
			start := time.Now()
			if err := t.key(echoKeys[i%len(echoKeys)]); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			if i >= echoWarmup {
				t.took = append(t.took, time.Since(start))
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// openTypists returns the floor and those that are wanted, none if none is; on an error, those that were opened.
func openTypists(ctx context.Context, b *bench) ([]*typist, error) {
	var wanted []string
	for _, name := range append([]string{"viewer", "attach"}, peerNames()...) {
		if b.wants("echo."+name+".p50", "echo."+name+".p99") {
			wanted = append(wanted, name)
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	if err := b.lab.serve(ctx); err != nil {
		return nil, err
	}
	var typists []*typist
	for _, name := range append([]string{"floor"}, wanted...) {
		t := &typist{name: name, close: func() {}}
		typists = append(typists, t)
		if err := t.open(ctx, b.lab); err != nil {
			return typists, fmt.Errorf("%s: %w", name, err)
		}
	}
	return typists, nil
}

// open starts an echo and waits until it echoes.
func (t *typist) open(ctx context.Context, l *lab) error {
	p, err := newProducer(l, textFile{path: "/dev/null"}, true)
	if err != nil {
		return err
	}
	t.then(p.close)
	switch t.name {
	case "floor":
		t.note = "bare PTY, cat in raw mode"
		bare, err := openTerminal(ctx, l, p.argv...)
		return t.onTerminal(ctx, p, bare, err)
	case "viewer", "attach":
		return t.openOurs(ctx, l, p)
	}
	for _, peer := range peers {
		if peer.name == t.name {
			shown, _, err := peer.open(ctx, l, "echo", p.argv)
			return t.onTerminal(ctx, p, shown, err)
		}
	}
	return fmt.Errorf("open echo: no such peer")
}

func (t *typist) then(f func()) {
	before := t.close
	t.close = func() { f(); before() }
}

// onTerminal types into a terminal that shows the echo.
func (t *typist) onTerminal(ctx context.Context, p *producer, shown *terminal, err error) error {
	if err != nil {
		return err
	}
	t.then(shown.close)
	mark := newMark()
	if err := p.start(mark); err != nil {
		return err
	}
	if err := shown.find(mark); err != nil {
		return err
	}
	t.key = func(key byte) error {
		if err := shown.write([]byte{key}); err != nil {
			return err
		}
		return shown.find(string(key))
	}
	return p.wait(ctx)
}

func (t *typist) openOurs(ctx context.Context, l *lab, p *producer) error {
	pane, err := l.newPane(ctx, p.argv...)
	if err != nil {
		return err
	}
	t.then(func() { _ = l.killPane(context.WithoutCancel(ctx), pane.ID) })
	if t.name == "attach" {
		t.note = "spawnd attach in a PTY"
		shown, err := openTerminal(ctx, l, l.program("spawnd"), "attach", pane.ID)
		return t.onTerminal(ctx, p, shown, err)
	}
	t.note = "control socket"
	v, err := attachShown(ctx, l, pane.ID, false)
	if err != nil {
		return err
	}
	t.then(v.close)
	t.key = v.key
	return v.flood(ctx, p)
}

// flood lets the producer print and takes all of it.
func (v *viewer) flood(ctx context.Context, p *producer) error {
	mark := newMark()
	if err := p.start(mark); err != nil {
		return err
	}
	if err := v.find(mark); err != nil {
		return err
	}
	return p.wait(ctx)
}

// key types a key and waits for its echo.
func (v *viewer) key(key byte) error {
	if err := v.stream.Input([]byte{key}); err != nil {
		return err
	}
	return v.findByte(key)
}
