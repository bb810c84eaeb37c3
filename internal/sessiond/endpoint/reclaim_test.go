// SPDX-License-Identifier: Apache-2.0

//go:build linux

package endpoint

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// contest is a name that several owners want, one after another, each leaving it in another way.
type contest struct {
	path   string
	id     SessionID
	rounds atomic.Int64 // still to be played
	owners atomic.Int64 // at this moment; never above 1
}

// TestReclaimHasAtMostOneOwnerWhoStaysReachable lets reclaimers fight for one session. Every owner
// checks that it is alone and that its name leads to it, then ends as a clean worker, as a killed one,
// or as one whose cleanup runs late, in its successor's time.
func TestReclaimHasAtMostOneOwnerWhoStaysReachable(t *testing.T) {
	rounds := int64(5000)
	if testing.Short() {
		rounds = 300
	}
	seed := rand.Uint64()
	for _, reclaimers := range []int{2, 3, 8} {
		t.Run(fmt.Sprint(reclaimers), func(t *testing.T) {
			c := &contest{path: newPath(t), id: NewSessionID()}
			c.rounds.Store(rounds)
			var all sync.WaitGroup
			for i := range reclaimers {
				all.Go(func() { c.reclaim(t, rand.New(rand.NewPCG(seed, uint64(i)))) })
			}
			all.Wait()
			f := openFolder(t, c.path)
			if err := f.Sweep(c.id); err != nil || len(entries(t, c.path)) != 0 {
				t.Errorf("seed %d: sweep: %v, left %v", seed, err, entries(t, c.path))
			}
		})
	}
}

func (c *contest) reclaim(t *testing.T, rng *rand.Rand) {
	f, err := OpenFolder(c.path)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	var late sync.WaitGroup
	defer late.Wait()
	for c.rounds.Load() > 0 && !t.Failed() {
		r, err := f.Reserve(c.id)
		if errors.Is(err, ErrReserved) {
			<-time.After(time.Duration(rng.IntN(100)) * time.Microsecond) // not to starve who has it
			continue
		}
		if err != nil {
			t.Errorf("reserve: %v", err)
			return
		}
		c.rounds.Add(-1)
		if err := c.own(f, r, rng, &late); err != nil {
			t.Error(err)
			return
		}
	}
}

// own is one owner's life.
func (c *contest) own(f *Folder, r *Reservation, rng *rand.Rand, late *sync.WaitGroup) error {
	if n := c.owners.Add(1); n != 1 {
		return fmt.Errorf("%d owners at once", n)
	}
	e, err := r.Listen()
	if err != nil {
		return err
	}
	if err := reachable(f, c.id, e); err != nil {
		return err
	}
	c.owners.Add(-1)
	switch rng.IntN(3) {
	case 0:
		return errors.Join(e.Close(), r.Retire())
	case 1:
		return errors.Join(r.Release(), e.Close())
	default:
		err := r.Release()
		late.Go(func() { e.Close() })
		return err
	}
}

// reachable fails unless the session's name leads to e.
func reachable(f *Folder, id SessionID, e *Endpoints) error {
	conn, err := f.Dial(context.Background(), id)
	if err != nil {
		return fmt.Errorf("a live listener is out of reach: %w", err)
	}
	defer conn.Close()
	accepted, err := e.Supervisor.AcceptUnix()
	if err != nil {
		return err
	}
	return accepted.Close()
}
