// SPDX-License-Identifier: Apache-2.0

//go:build linux

package endpoint

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/chance"
	"spawn/internal/sessiond/failpoint"
)

const (
	reclaimPause = 20 * time.Millisecond // within which one is killed, which is many of its rounds
	stopPause    = 5 * time.Millisecond  // for which one stands still at most, in which others have many rounds if they can
	ownerName    = "owner"
	roundsName   = "rounds"
)

// Processes fight for one session and are killed at any moment of it, by the next one's clock. No two own it at
// once, whoever owns it is reached by its name, and what the dead leave can be swept.
func TestReclaimByProcessesThatAreKilled(t *testing.T) {
	seed, kills := chance.Seed(t), chance.Size(48, 4800)
	for _, reclaimers := range crowds {
		t.Run(fmt.Sprint(reclaimers), func(t *testing.T) {
			a := newArena(t, os.Args[0])
			var all sync.WaitGroup
			for i := range reclaimers {
				all.Go(func() {
					random := rand.New(rand.NewPCG(seed, uint64(i)))
					for range kills / reclaimers {
						r := a.enter("", 0)
						<-time.After(time.Duration(random.Int64N(int64(reclaimPause))))
						r.kill()
					}
				})
			}
			all.Wait()
			a.requireSweepable()
		})
	}
}

// reclaimSteps are those of taking a name and of giving it up, each of which is passed with the files of a dead one there,
// without, and while others are at theirs.
var reclaimSteps = []failpoint.Point{
	failpoint.ReserveOpened, failpoint.ReserveLocked, failpoint.ReserveCompared, failpoint.StaleRemoved, failpoint.StreamBound,
	failpoint.LifecycleBound, failpoint.LockRemoved,
}

// Processes fight for one session, and again and again one of them stands still at one and the same step while the others go
// on as far as they can; then it goes on itself, or is killed there. The same holds.
func TestReclaimWithOneStandingAtEachStep(t *testing.T) {
	seed, binary := chance.Seed(t), withFailpoints(t)
	hits, rounds := 0, int64(0)
	for _, reclaimers := range crowds {
		for n, point := range reclaimSteps {
			t.Run(fmt.Sprintf("%d, %s", reclaimers, point), func(t *testing.T) {
				a := newArena(t, binary)
				random := rand.New(rand.NewPCG(seed, uint64(reclaimers*len(reclaimSteps)+n)))
				var others []*reclaimer
				for range reclaimers - 1 {
					others = append(others, a.enter("", 0))
				}
				// A hit takes some ten rounds, so the least of rounds is what a long run is about.
				for hit := 0; !t.Failed() && (hit < chance.Size(4, 200) || a.rounds() < int64(chance.Size(40, 5000))); hit++ {
					r := a.enter(point, 1+random.IntN(3))
					if !r.awaitStop() {
						break
					}
					<-time.After(time.Duration(random.Int64N(int64(stopPause))))
					if random.IntN(2) == 0 {
						_ = r.Process.Signal(syscall.SIGCONT)
						a.awaitRounds(a.rounds() + 1)
					}
					r.kill()
					hits++
				}
				for _, o := range others {
					o.kill()
				}
				rounds += a.rounds()
				a.requireSweepable()
			})
		}
	}
	chance.Tell(t, "T25 reclaimers at each step", seed, int(rounds), hits)
}

// withFailpoints builds this test once more, for processes that stop at points.
func withFailpoints(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reclaimer")
	build := exec.Command("go", "test", "-c", "-tags", "failpoints", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, said)
	}
	return path
}

// arena is one name, and where those who fight for it leave word.
type arena struct {
	t                   *testing.T
	binary, path, aside string
	id                  SessionID
}

func newArena(t *testing.T, binary string) *arena {
	t.Helper()
	return &arena{t, binary, newPath(t), t.TempDir(), NewSessionID()}
}

// reclaimer is a process in the arena.
type reclaimer struct {
	*exec.Cmd
	a      *arena
	stdout io.Reader
}

// enter starts one that stands still at the n-th passage of a point; "" is none. It has begun when this returns.
func (a *arena) enter(point failpoint.Point, n int) *reclaimer {
	a.t.Helper()
	r := &reclaimer{Cmd: exec.Command(a.binary, a.path, a.aside, string(a.id)), a: a}
	r.Env = []string{roleVariable + "=reclaim"}
	if point != "" {
		r.Env = append(r.Env, fmt.Sprintf("SPAWN_FAILPOINT=%s#%d", point, n), "SPAWN_FAILPOINT_STOP=1")
	}
	r.Stderr = os.Stderr
	var err error
	if r.stdout, err = r.StdoutPipe(); err != nil {
		a.t.Error(err)
		return r
	}
	if err := r.Start(); err != nil {
		a.t.Error(err)
		return r
	}
	begun := make([]byte, len("begun\n"))
	if _, err := io.ReadFull(r.stdout, begun); string(begun) != "begun\n" {
		a.t.Errorf("a reclaimer says %q (%v)", begun, err)
	}
	return r
}

// awaitStop waits until the process stands still, and reports whether it does.
func (r *reclaimer) awaitStop() bool {
	r.a.t.Helper()
	overdue := time.AfterFunc(arenaPatience, func() { _ = r.Process.Kill() })
	defer overdue.Stop()
	if err := unix.Waitid(unix.P_PID, r.Process.Pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		r.a.t.Errorf("wait for a reclaimer: %v", err)
		return false
	}
	if state := stateOf(strconv.Itoa(r.Process.Pid)); state != "T" {
		r.kill()
		r.a.t.Errorf("a reclaimer never comes to its step: state %q", state)
		return false
	}
	return true
}

// kill ends the process and wants it to have said nothing.
func (r *reclaimer) kill() {
	r.a.t.Helper()
	if r.Process == nil {
		return
	}
	_ = r.Process.Kill()
	if words, _ := io.ReadAll(r.stdout); len(words) > 0 {
		r.a.t.Errorf("a reclaimer says %q", words)
	}
	_ = r.Wait()
}

// arenaPatience bounds what happens at once on any machine that is not too busy.
const arenaPatience = 30 * time.Second

// rounds is how often the session had an owner so far.
func (a *arena) rounds() int64 {
	st, err := os.Stat(filepath.Join(a.aside, roundsName))
	if err != nil {
		return 0
	}
	return st.Size()
}

// awaitRounds waits for as many: nobody who stood still keeps the others from the name for ever.
func (a *arena) awaitRounds(n int64) {
	a.t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(arenaPatience); a.rounds() < n; <-look.C {
		if time.Now().After(deadline) {
			a.t.Errorf("%d rounds, and no more", a.rounds())
			return
		}
	}
}

// requireSweepable wants the session to have been owned, and nothing to stay of it.
func (a *arena) requireSweepable() {
	a.t.Helper()
	if a.rounds() == 0 {
		a.t.Error("nobody ever owned the session")
	}
	f := openFolder(a.t, a.path)
	if err := f.Sweep(a.id); err != nil || len(entries(a.t, a.path)) != 0 {
		a.t.Errorf("sweep: %v, left %v", err, entries(a.t, a.path))
	}
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
	if err := countRound(aside); err != nil {
		return err
	}
	if err := os.Remove(owner); err != nil {
		return err
	}
	if n%2 == 0 {
		return errors.Join(e.Close(), r.Retire())
	}
	return errors.Join(r.Release(), e.Close())
}

// countRound adds a byte to the file whose length is how many rounds there were.
func countRound(aside string) error {
	file, err := os.OpenFile(filepath.Join(aside, roundsName), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write([]byte{'.'})
	return errors.Join(err, file.Close())
}

// alive reports whether a process runs code. One that is being killed holds its lock until it does not any more, so
// whoever has the lock sees it as dead or as a zombie.
func alive(pid string) bool {
	state := stateOf(pid)
	return state != "" && state != "Z" && state != "X" && !dying(pid)
}

// stateOf is the letter by which the kernel says what a process does; "" when there is none.
func stateOf(pid string) string {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return ""
	}
	_, state, _ := strings.Cut(string(stat), ") ") // not found: /proc/stat, of who died before its number was written
	return state[:min(1, len(state))]
}

// dying reports whether a process is past its last instruction: it has no memory any more.
func dying(pid string) bool {
	maps, err := os.ReadFile("/proc/" + pid + "/maps")
	return err != nil || len(maps) == 0
}
