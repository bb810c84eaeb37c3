// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"spawn/internal/chance"
	"spawn/internal/sessiond/wire"
)

// interleavings is how many different ones a run takes, each drawn from the seed and its number.
const interleavings = 40

// TestAnyInterleavingIsExact: whatever happens in whatever order, what a viewer has is a snapshot at W
// and exactly the bytes after W, and its history view is the worker's log.
func TestAnyInterleavingIsExact(t *testing.T) {
	seed := chance.Seed(t)
	var total Stats
	ran := 0
	for n := range uint64(interleavings) {
		ok := t.Run(fmt.Sprint(n), func(t *testing.T) {
			ran++
			bubble(t, func(t *testing.T) {
				s := interleave(t, rand.New(rand.NewPCG(seed, n)))
				total.Resumes, total.Drops, total.Snapshots = total.Resumes+s.Resumes, total.Drops+s.Drops, total.Snapshots+s.Snapshots
			})
		})
		if !ok {
			return
		}
	}
	t.Logf("%d snapshots, %d drops, %d resumes", total.Snapshots, total.Drops, total.Resumes)
	if ran == interleavings && (total.Resumes < 20 || total.Drops < 20) {
		t.Error("too few drops or resumes: the test says little")
	}
}

func (s *watching) setQuick(quick bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quick = quick
}

type player struct {
	v      *Viewer
	s      *watching
	resume func()
	wants  bool // history
	o      AttachOptions
}

// leave detaches the player, whose sink takes nothing more.
func (p *player) leave() {
	p.v.Detach()
	if p.resume != nil {
		p.resume()
		p.resume = nil
	}
	synctest.Wait()
}

// comeBack attaches it again with what it has.
func (p *player) comeBack(x *house) {
	heir, mark := p.s.heir(p.v.Stream())
	o := p.o
	o.Resume = mark
	v, err := x.h.Attach(heir, o)
	if err != nil {
		x.Fatal(err)
	}
	p.v, p.s = v, heir
}

func interleave(t *testing.T, r *rand.Rand) Stats {
	x := open(t, Options{})
	var players, away []*player
	pick := func() *player {
		if len(players) == 0 {
			return nil
		}
		return players[r.IntN(len(players))]
	}
	if r.IntN(4) == 0 {
		x.w.allow(3) // a command queue that is full now and then
	}
	for range 300 {
		p := pick()
		switch n := r.IntN(100); {
		case n < 10:
			x.w.print(1 + r.IntN(100))
			x.w.work(1)
		case n < 25:
			x.w.print(1 + r.IntN(9000))
		case n < 32:
			x.w.print(64 << 10)
		case n < 45:
			x.w.commit(bytes.Repeat([]byte{byte('a' + r.IntN(26))}, 1+r.IntN(5000)))
		case n < 47:
			x.w.wipe()
		case n < 60:
			x.w.work(1 + r.IntN(3))
		case n < 66 && len(players) < 8:
			p := &player{wants: r.IntN(3) > 0}
			o := AttachOptions{History: p.wants, ReadOnly: r.IntN(5) == 0, Screen: r.IntN(5) == 0}
			if r.IntN(2) == 0 {
				o.Cols, o.Rows = uint16(1+r.IntN(200)), uint16(1+r.IntN(60))
			}
			p.o = o
			p.v, p.s = x.attach(o)
			p.s.setQuick(r.IntN(2) == 0)
			players = append(players, p)
		case n < 68 && len(away) > 0:
			p := away[0]
			away = away[1:]
			p.comeBack(x)
			players = append(players, p)
		case p == nil:
		case n < 71:
			p.leave()
			players = slices.DeleteFunc(players, func(o *player) bool { return o == p })
			away = append(away, p)
		case n < 73:
			p.leave()
			p.comeBack(x)
		case n < 76:
			_ = p.v.Snapshot(r.IntN(2) == 0)
		case n < 82:
			_ = p.v.Resize(uint16(1+r.IntN(200)), uint16(1+r.IntN(60)))
		case n < 86:
			_ = p.v.Take()
		case n < 92:
			if p.resume == nil {
				p.resume = p.s.stall()
			} else {
				p.resume()
				p.resume = nil
			}
		case n < 93:
			x.w.notice(wire.Notice{Kind: wire.NoticeTitle, Text: "t"})
		case n < 94:
			<-time.After(time.Duration(r.IntN(int(resumeTimeout))))
		case n < 95: // a batch that never comes
			x.w.log = append(x.w.log, "hole"...)
			x.w.commit([]byte("after\r\n"))
		default:
			synctest.Wait()
		}
	}
	for _, p := range away {
		p.comeBack(x)
	}
	calm(x, append(players, away...))
	stats := x.h.Stats()
	x.finish()
	return stats
}

// calm lets all stalled sinks go on, heals whoever was dropped or lost its anchor as a page would, and
// then expects everybody to be exact.
func calm(x *house, players []*player) {
	x.w.allow(-1)
	for _, p := range players {
		if p.resume != nil {
			p.resume()
		}
	}
	x.settle()
	<-time.After(time.Minute) // let retries run
	x.settle()
	for _, p := range players {
		if !p.s.seeded || p.wants && !p.s.anchored {
			if err := p.v.Snapshot(true); err != nil {
				x.Fatal(err)
			}
		}
	}
	x.settle()
	x.w.print(1000)
	x.w.commit([]byte("the end\r\n"))
	x.settle()
	for i, p := range players {
		x.expect(p.s, fmt.Sprint("viewer ", i))
		if p.wants != p.s.anchored {
			x.Errorf("viewer %d: wants history %t, anchored %t", i, p.wants, p.s.anchored)
		}
		last := p.s.snapshots[len(p.s.snapshots)-1]
		if last.Cols != x.w.cols || last.Rows != x.w.rows {
			x.Errorf("viewer %d was last painted at %dx%d, the worker is %dx%d", i, last.Cols, last.Rows, x.w.cols, x.w.rows)
		}
		if p.s.resizes != x.w.resizes {
			x.Errorf("viewer %d was last painted after %d changes of size, the worker had %d", i, p.s.resizes, x.w.resizes)
		}
	}
}
