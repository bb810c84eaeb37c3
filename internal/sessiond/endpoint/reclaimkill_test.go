// SPDX-License-Identifier: Apache-2.0

//go:build linux

package endpoint

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	reclaimKills = 48
	reclaimPause = 20 * time.Millisecond // within which one is killed, which is many of its rounds
	ownerName    = "owner"
)

// Processes fight for one session and are killed at any moment of it, by the next one's clock. No two own it at
// once, whoever owns it is reached by its name, and what the dead leave can be swept.
func TestReclaimByProcessesThatAreKilled(t *testing.T) {
	seed := rand.Uint64()
	for _, reclaimers := range []int{2, 3, 8} {
		t.Run(fmt.Sprint(reclaimers), func(t *testing.T) {
			path, aside, id := newPath(t), t.TempDir(), NewSessionID()
			var kills sync.WaitGroup
			for i := range reclaimers {
				kills.Go(func() {
					random := rand.New(rand.NewPCG(seed, uint64(i)))
					for range reclaimKills / reclaimers {
						reclaimUntilKilled(t, random, path, aside, id)
					}
				})
			}
			kills.Wait()
			if rounds, err := filepath.Glob(filepath.Join(aside, "round-*")); err != nil || len(rounds) == 0 {
				t.Errorf("seed %d: nobody ever owned the session: %v", seed, err)
			}
			f := openFolder(t, path)
			if err := f.Sweep(id); err != nil || len(entries(t, path)) != 0 {
				t.Errorf("seed %d: sweep: %v, left %v", seed, err, entries(t, path))
			}
		})
	}
}

func reclaimUntilKilled(t *testing.T, random *rand.Rand, path, aside string, id SessionID) {
	o := startRole(t, "reclaim", uint32(os.Geteuid()), nil, path, aside, string(id))
	if line, err := o.stdout.ReadString('\n'); strings.TrimSpace(line) != "begun" {
		t.Errorf("a reclaimer says %q (%v)", line, err)
		return
	}
	<-time.After(time.Duration(random.Int64N(int64(reclaimPause))))
	o.Process.Kill()
	if words, _ := io.ReadAll(o.stdout); len(words) > 0 {
		t.Errorf("a reclaimer says %q", words)
	}
	o.Wait()
}

// roleReclaim owns and gives up the session again and again, until it is killed or sees that it is not alone.
func roleReclaim() error {
	f, err := OpenFolder(os.Args[1])
	if err != nil {
		return err
	}
	fmt.Println("begun")
	for n := 0; ; {
		r, err := f.Reserve(SessionID(os.Args[3]))
		if errors.Is(err, ErrReserved) {
			<-time.After(100 * time.Microsecond) // not to starve who has it
			continue
		}
		if err != nil {
			return err
		}
		if err := ownOnce(f, r, os.Args[2], n); err != nil {
			return err
		}
		n++
	}
}

// ownOnce is alone, or finds the name of one who is dead.
func ownOnce(f *Folder, r *Reservation, aside string, n int) error {
	owner := filepath.Join(aside, ownerName)
	if text, err := os.ReadFile(owner); err == nil && alive(string(text)) {
		return fmt.Errorf("process %s owns it too", text)
	}
	if err := os.WriteFile(owner, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	e, err := r.Listen()
	if err != nil {
		return err
	}
	if err := reachable(f, SessionID(r.stem), e); err != nil {
		return err
	}
	if n == 0 {
		if err := os.WriteFile(filepath.Join(aside, fmt.Sprint("round-", os.Getpid())), nil, 0o600); err != nil {
			return err
		}
	}
	if err := os.Remove(owner); err != nil {
		return err
	}
	if n%2 == 0 {
		return errors.Join(e.Close(), r.Retire())
	}
	return errors.Join(r.Release(), e.Close())
}

// alive reports whether a process runs code. One that is being killed holds its lock until it does not any more, so
// whoever has the lock sees it as dead or as a zombie.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X") && !dying(pid)
}

// dying reports whether a process is past its last instruction: it has no memory any more.
func dying(pid string) bool {
	maps, err := os.ReadFile("/proc/" + pid + "/maps")
	return err != nil || len(maps) == 0
}
