// SPDX-License-Identifier: Apache-2.0

//go:build linux

package endpoint

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/chance"
)

// contest is a name that several owners want, one after another, each leaving it in another way.
type contest struct {
	path   string
	id     SessionID
	rounds atomic.Int64 // still to be played
	owners atomic.Int64 // at this moment; never above 1
}

// crowds are how many want one name.
var crowds = []int{2, 3, 8}

// TestReclaimHasAtMostOneOwnerWhoStaysReachable lets reclaimers fight for one session. Every owner
// checks that it is alone and that its name leads to it, then ends as a clean worker, as a killed one,
// or as one whose cleanup runs late, in its successor's time.
func TestReclaimHasAtMostOneOwnerWhoStaysReachable(t *testing.T) {
	rounds := int64(5000)
	if testing.Short() {
		rounds = 300
	}
	seed := chance.Seed(t)
	for _, reclaimers := range crowds {
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
				t.Errorf("sweep: %v, left %v", err, entries(t, c.path))
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

// A worker between bind and listen refuses connections although it lives: who asks hears that nobody listens, and whoever
// wants its name is refused and removes nothing. Then it listens, and is reached.
func TestBoundAndNotListeningIsLeftAlone(t *testing.T) {
	f, id := openFolder(t, newPath(t)), NewSessionID()
	r := reserve(t, f, id)
	path := filepath.Join(f.Path(), string(id)+streamSuffix)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), os.Chmod(path, FileMode)); err != nil {
		t.Fatal(err)
	}
	before, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if _, err := f.Dial(t.Context(), id); !errors.Is(err, ErrNotListening) {
			t.Fatalf("dial: %v", err)
		}
		if held, err := f.Locked(id); err != nil || !held {
			t.Fatalf("locked: %v, %v", held, err)
		}
		if _, err := f.Reserve(id); !errors.Is(err, ErrReserved) {
			t.Fatalf("reserve: %v", err)
		}
		if err := f.Sweep(id); !errors.Is(err, ErrReserved) {
			t.Fatalf("sweep: %v", err)
		}
	}
	if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
		t.Fatalf("the socket is gone: %v", err)
	}
	if err := unix.Listen(fd, 5); err != nil {
		t.Fatal(err)
	}
	conn, err := f.Dial(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := r.Release(); err != nil { // dead now: its socket is stale, although somebody listens
		t.Fatal(err)
	}
	if err := f.Sweep(id); err != nil || len(entries(t, f.Path())) != 0 {
		t.Errorf("sweep: %v, left %v", err, entries(t, f.Path()))
	}
}
