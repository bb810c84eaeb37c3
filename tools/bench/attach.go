// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"time"
)

// measureAttach attaches again and again to a terminal whose log is full.
func measureAttach(ctx context.Context, b *bench) error {
	names := []string{"attach.screen", "attach.history", "attach.command", "attach.command.history"}
	if !b.wants(append(names, "attach.tmux")...) {
		return nil
	}
	if err := b.lab.serve(ctx); err != nil {
		return err
	}
	text, err := makeText(b.lab, b.effort(64_000_000, 16_000_000))
	if err != nil {
		return err
	}
	if b.wants(names...) {
		if err := measureOurAttach(ctx, b, text); err != nil {
			return err
		}
	}
	for _, p := range peers {
		if name := "attach." + p.name; p.name == "tmux" && p.installed() && b.wants(name) {
			if err := measurePeerAttach(ctx, b, name, p, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// measureOurAttach measures the control socket alone, and the command that people use.
func measureOurAttach(ctx context.Context, b *bench, text textFile) error {
	p, err := newProducer(b.lab, text, false)
	if err != nil {
		return err
	}
	defer p.close()
	pane, err := b.lab.newPane(ctx, p.argv...)
	if err != nil {
		return err
	}
	defer func() { _ = b.lab.killPane(context.WithoutCancel(ctx), pane.ID) }()
	mark, err := fill(ctx, b.lab, pane.ID, p)
	if err != nil {
		return err
	}
	for _, history := range []bool{false, true} {
		if err := measureReplay(ctx, b, pane.ID, history); err != nil {
			return err
		}
	}
	command := []string{b.lab.program("spawnd"), "attach", pane.ID}
	if err := measureCommand(ctx, b, "attach.command", command, mark, 1); err != nil {
		return err
	}
	return measureCommand(ctx, b, "attach.command.history", command, mark, 2)
}

// fill lets the producer print all, and returns the last line, which the screen then shows.
func fill(ctx context.Context, l *lab, pane string, p *producer) (mark string, err error) {
	v, err := attachShown(ctx, l, pane, false)
	if err != nil {
		return "", err
	}
	defer v.close()
	end := v.position + uint64(p.produced())
	mark = newMark()
	if err := p.start(mark); err != nil {
		return "", err
	}
	if err := v.reach(end); err != nil {
		return "", err
	}
	return mark, p.wait(ctx)
}

// measureReplay measures from the connection to the last byte of the first replay.
func measureReplay(ctx context.Context, b *bench, pane string, history bool) error {
	name, what := "attach.screen", "exact screen"
	if history {
		name, what = "attach.history", "screen and all history"
	}
	var took []float64
	var size int
	for range b.effort(15, 5) {
		start := time.Now()
		v, err := attachShown(ctx, b.lab, pane, history)
		if err != nil {
			return err
		}
		took = append(took, millis(time.Since(start)))
		size = v.screen
		v.close()
	}
	b.add(figure{Name: name, Value: median(took), Unit: "ms", Note: fmt.Sprintf("full log; %s, %.3g MB in one replay", what, float64(size)/1e6)})
	return nil
}

// measureCommand measures from starting a program in a PTY to the line that the terminal ends with. Ours shows it
// twice: with the screen, and when the history has been written behind it.
func measureCommand(ctx context.Context, b *bench, name string, command []string, mark string, times int) error {
	what := "its screen"
	if times > 1 {
		what = "its screen with the history behind it"
	}
	var took []float64
	for range b.effort(15, 5) {
		start := time.Now()
		t, err := openTerminal(ctx, b.lab, command...)
		if err != nil {
			return err
		}
		for range times {
			if err = t.find(mark); err != nil {
				break
			}
		}
		took = append(took, millis(time.Since(start)))
		t.close()
		if err != nil {
			return err
		}
	}
	b.add(figure{Name: name, Value: median(took), Unit: "ms", Note: "full log; from starting the program to the last line of " + what})
	return nil
}

func measurePeerAttach(ctx context.Context, b *bench, name string, p peer, text textFile) error {
	producer, err := newProducer(b.lab, text, false)
	if err != nil {
		return err
	}
	defer producer.close()
	shown, again, err := p.open(ctx, b.lab, "attach", producer.argv)
	if err != nil {
		return err
	}
	defer shown.close()
	mark := newMark()
	if err := producer.start(mark); err != nil {
		return err
	}
	if err := shown.find(mark); err != nil {
		return err
	}
	return measureCommand(ctx, b, name, again, mark, 1)
}
