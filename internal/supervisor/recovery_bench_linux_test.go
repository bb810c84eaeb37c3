// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/topology"
)

// answered is a worker whose answer to a capture is ready.
type answered struct {
	*archiveSource
	payload []byte
}

// RequestCapture implements fanout.Source.
func (a *answered) RequestCapture(wire.CaptureReq) error {
	a.ask(func() (wire.Kind, []byte, error) { return wire.KindCapture, a.payload, nil })
	return nil
}

// buildRow is as long as a row of a build's output is on average. One of a hundred has quotes.
func buildRow(i int) string {
	row := fmt.Sprintf("[%5d/99999] Compiling internal/room%d", i, i%97)
	if i%100 == 0 {
		row = `error: "` + row + `"`
	}
	return row
}

// captured is the answer of a terminal with a full history.
func captured(b *testing.B) []byte {
	b.Helper()
	shot := wire.Capture{Cols: 80, Rows: 24}
	for i := range 10_000 {
		shot.History = append(shot.History, buildRow(i))
	}
	for i := range 24 {
		shot.Screen = append(shot.Screen, buildRow(i))
	}
	frame, err := wire.AppendCapture(nil, shot)
	if err != nil {
		b.Fatal(err)
	}
	return frame[wire.HeaderLen:]
}

// fullTerminals are as many as the largest checkpoint takes the text of, a window each, and their hubs run until the benchmark ends.
func fullTerminals(b *testing.B, n int) *panes {
	b.Helper()
	payload := captured(b)
	ps := &panes{}
	ps.mu.byID = map[string]*pane{}
	ps.mu.tree.Sessions = []topology.Session{{ID: "s0", Name: "work"}}
	hello := wire.Hello{Cols: 80, Rows: 24, History: true, Capabilities: []string{wire.CapHistory, wire.CapCapture}}
	for i := range n {
		source := &answered{newArchiveSource(&recovery.Shown{Cols: 80, Rows: 24}, wire.Exit{}), payload}
		p := newPane(fmt.Sprintf("p%d", i), "", nil, nil)
		hub := fanout.New(source, hello, fanout.Options{})
		p.mu.hub = hub
		p.mu.facts = Facts{Cols: 80, Rows: 24}
		ps.mu.byID[p.id] = p
		window := fmt.Sprintf("w%d", i)
		ps.mu.tree.Windows = append(ps.mu.tree.Windows, topology.Window{
			ID: window, Session: "s0", Revision: 1, Nodes: []topology.Node{{Kind: topology.NodePane, Pane: p.id}},
		})
		ps.mu.tree.Panes = append(ps.mu.tree.Panes, topology.Pane{ID: p.id, Window: window})
		go func() { _, _ = hub.Run(b.Context()) }()
	}
	return ps
}

// BenchmarkLargestCheckpoint is the whole way from the answers of 144 workers, 1.4 million rows, to a durable file. cpu-ms/op is what
// this process used, held-MB what of the text is in memory while the file is written.
func BenchmarkLargestCheckpoint(b *testing.B) {
	base := b.TempDir()
	store, err := recovery.Open(recovery.Options{Base: base, Identity: recovery.Identity{Socket: "/run/spawnd.sock", UID: os.Geteuid()}})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	p := recovery.DefaultPolicy()
	p.Enabled, p.Text, p.MaxBytes, p.MaxCheckpoints = true, recovery.TextModePlain, recovery.FileBytesMax, 2
	if err := store.Start(p, true); err != nil {
		b.Fatal(err)
	}
	ps := fullTerminals(b, 144)
	before := used()
	idle := heap()
	var held uint64
	b.ReportAllocs()
	for b.Loop() {
		c := recovery.Capture(ps.view(b.Context(), time.Now(), p, time.Minute, nil), recovery.ShutdownOpen, p)
		if held == 0 {
			held = heap() - idle
		}
		done, err := store.Publish(context.Background(), c)
		if err != nil || done.TextPanes != 144 {
			b.Fatalf("%+v, %v", done, err)
		}
	}
	b.ReportMetric(float64((used()-before).Milliseconds())/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(held)/1e6, "held-MB")
}

// used is the processor time of this process.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("getrusage: " + err.Error())
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heap is what is in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
