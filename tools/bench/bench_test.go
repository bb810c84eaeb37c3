// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"spawn/internal/sessiond/emulator/streams"
)

func TestPercentileIsOneOfTheValues(t *testing.T) {
	for _, c := range []struct {
		values []int
		p      float64
		want   int
	}{
		{nil, 50, 0},
		{[]int{7}, 99, 7},
		{[]int{3, 1, 2}, 50, 2},
		{[]int{4, 1, 3, 2}, 50, 2},
		{[]int{5, 4, 3, 2, 1}, 99, 5},
		{[]int{5, 4, 3, 2, 1}, 0, 1},
		{[]int{5, 4, 3, 2, 1}, 100, 5},
	} {
		if got := percentile(c.values, c.p); got != c.want {
			t.Errorf("percentile %v of %v is %d, want %d", c.p, c.values, got, c.want)
		}
	}
}

func TestRatiosPairRounds(t *testing.T) {
	// The machine was twice as slow in the second round. The pairs don't show it.
	if got := median(ratios([]float64{50, 25, 50}, []float64{100, 50, 100})); got != 0.5 {
		t.Errorf("ratio %v", got)
	}
}

// A mark must be found wherever the stream is cut, once, and its beginning alone must not.
func TestSearchFindsTextAcrossPieces(t *testing.T) {
	const stream, mark = "abc<end-<end-1>xyz", "<end-1>"
	end := strings.Index(stream, mark) + len(mark)
	for cut := range len(stream) {
		for second := cut; second <= len(stream); second++ {
			s := search{text: []byte(mark)}
			at := 0
			for _, to := range []int{cut, second, len(stream)} {
				found := s.found([]byte(stream[at:to]))
				if want := at < end && end <= to; found != want {
					t.Fatalf("cut at %d and %d: found %v in [%d,%d)", cut, second, found, at, to)
				}
				at = to
			}
		}
	}
}

func TestSearchForgetsWhatItFound(t *testing.T) {
	s := search{text: []byte("#")}
	if !s.found([]byte("#")) || s.found([]byte("x")) || !s.found([]byte("#")) {
		t.Error("a key is found when it comes, and only then")
	}
}

func TestReportWritesWhatWasAskedFor(t *testing.T) {
	r := newReport(io.Discard, regexp.MustCompile("^a"))
	r.add(figure{Name: "a.one", Value: 50, Unit: "MB/s"}.over(100))
	r.add(figure{Name: "b.two", Value: 1})
	r.add(figure{Name: "a.two", Value: 1, Note: "no floor"})
	path := filepath.Join(t.TempDir(), "bench", "latest.json")
	if err := r.write(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"name":"a.one","value":50,"unit":"MB/s","floor":100,"ratio":0.5,"note":""},
 {"name":"a.two","value":1,"unit":"","floor":null,"ratio":null,"note":"no floor"}]
`
	if string(text) != want || !json.Valid(text) {
		t.Errorf("wrote %s, want %s", text, want)
	}
}

func TestSpeedsOfAnotherEmulatorAreReadWholeOrNotAtAll(t *testing.T) {
	loads := []streams.Stream{streams.Lines, streams.Dense}
	for line, want := range map[string]string{
		"x\ta note\t50\t200": "x.a 0.5, x.b 2, ",
		"x\ta note\t50":      "",
		"y\ta note\t50\t200": "",
		"x\ta note\tfast\t1": "",
		"":                   "",
	} {
		b := &bench{report: newReport(io.Discard, regexp.MustCompile(""))}
		err := b.addGoEmulator("x", line, loads, 100)
		var got strings.Builder
		for _, f := range b.figures {
			fmt.Fprintf(&got, "%s %v, ", f.Name, *f.Ratio)
		}
		if got.String() != want || (err == nil) != (want != "") {
			t.Errorf("%q gives %q, %v, want %q", line, got.String(), err, want)
		}
	}
}

// What a round prints is counted to the byte by every route, so it must be exact.
func TestProducerPrintsWhatItSays(t *testing.T) {
	l, err := openLab()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	})
	text, err := makeText(l, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProducer(l, text, false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	shown, err := openTerminal(t.Context(), l, p.argv...)
	if err != nil {
		t.Fatal(err)
	}
	defer shown.close()
	for range 2 {
		mark := newMark()
		if err := p.start(mark); err != nil {
			t.Fatal(err)
		}
		if err := shown.skip(p.produced() - len(mark) - len("\r\n")); err != nil {
			t.Fatal(err)
		}
		if err := shown.find(mark + "\r\n"); err != nil {
			t.Fatal(err)
		}
		if err := p.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLabEndsWhatRunsInIt(t *testing.T) {
	l, err := openLab()
	if err != nil {
		t.Fatal(err)
	}
	shown, err := openTerminal(t.Context(), l, "/bin/sh", "-c", "trap '' HUP TERM; (exec cat >/dev/null 2>&1 <&- ) & echo up; read -r line")
	if err != nil {
		t.Fatal(err)
	}
	if err := shown.find("up"); err != nil {
		t.Fatal(err)
	}
	if len(l.processes()) == 0 {
		t.Fatal("a running program of the lab is not seen")
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	shown.close()
	if left := l.processes(); len(left) > 0 || exists(l.dir) || exists(l.run) {
		t.Errorf("left: %v, folders %v %v", left, exists(l.dir), exists(l.run))
	}
}
