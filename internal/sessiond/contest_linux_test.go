// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"spawn/internal/chance"
	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
)

// The steps of taking a name, and of giving it back.
var (
	takingSteps = []failpoint.Point{
		failpoint.LockPassed, failpoint.FolderOpen, failpoint.LockHeld, failpoint.LogMade, failpoint.StaleRemoved,
		failpoint.StreamBound, failpoint.LifecycleBound, failpoint.BeforeReady,
	}
	leavingSteps = []failpoint.Point{
		failpoint.LoopLeft, failpoint.Parted, failpoint.LogDestroyed, failpoint.KeyDestroyed, failpoint.SocketsClosed, failpoint.LockRemoved,
	}
)

// A worker stands still at each step of taking its name and of giving it back, and several others want the name. As long as the
// lock lies at the name nobody gets it and nothing is touched, whether its socket is there, bound or not. When the name is
// free, one gets it, and the one that stood still takes nothing away from it. When a stopped one is killed instead, one gets
// what it leaves.
func TestNameIsFoughtForAtEachStep(t *testing.T) {
	path, err := failingBinary()
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for range chance.Size(1, 100) {
		for _, point := range slices.Concat(takingSteps, leavingSteps) {
			for _, many := range []int{2, 3, 8} {
				for _, killed := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, %d want it, killed %v", point, many, killed), func(t *testing.T) {
						newContest(t, path, point, many).play(killed)
						runs++
					})
				}
			}
		}
	}
	chance.Tell(t, "T25 name at each step", 0, runs, runs)
}

// play lets the contestants at the name while the worker stands still, and after it goes on or is killed.
func (c *contest) play(killed bool) {
	c.t.Helper()
	if c.point == failpoint.LockRemoved {
		c.requireOneOwner()
		c.resume(killed)
		<-c.ended // and has done what it still does
		c.requireReachable()
		return
	}
	c.requireNoOwner()
	c.resume(killed)
	switch {
	case killed:
		c.requireOneOwner()
	case slices.Contains(takingSteps, c.point):
		c.requireReady()
		peer := dial(c.t, c.folder, c.id) // HELLO names the session
		peer.startScript("echo ready; cat")
		peer.untilOutput("ready\r\n")
	default:
		<-c.ended
		c.requireOneOwner()
	}
}

// contest is one name, the worker that stands still at it, and how many want it.
type contest struct {
	t      *testing.T
	folder *endpoint.Folder
	id     endpoint.SessionID
	point  failpoint.Point
	cmd    *exec.Cmd
	ended  chan struct{}
	says   *os.File // the end of it, with nothing said, is that the worker listens
	many   int
	owner  *endpoint.Endpoints // the contestant's who got it
}

// newContest starts a worker that stops at a point and waits until it stands still.
func newContest(t *testing.T, path string, point failpoint.Point, many int) *contest {
	t.Helper()
	c := &contest{t: t, folder: openTestFolder(t), id: endpoint.NewSessionID(), point: point, many: many, ended: make(chan struct{})}
	lock := lockFor(t, c.folder, c.id)
	c.cmd = exec.Command(path, "--session-id", c.id.String(), "--worker-dir", c.folder.Path())
	c.cmd.ExtraFiles = []*os.File{lock}
	c.cmd.Env = []string{"HOME=/", "SPAWN_FAILPOINT=" + string(point), "SPAWN_FAILPOINT_STOP=1"}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	says, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.says, c.cmd.Stderr = says, theirs
	t.Cleanup(func() { says.Close() })
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	lock.Close()
	t.Cleanup(func() {
		c.cmd.Process.Kill()
		<-c.ended
	})
	defer func() {
		go func() {
			defer close(c.ended)
			c.cmd.Wait()
		}()
	}()
	if slices.Contains(leavingSteps, point) {
		c.requireReady()
		c.cmd.Process.Signal(syscall.SIGTERM)
	}
	if err := unix.Waitid(unix.P_PID, c.cmd.Process.Pid, nil, unix.WSTOPPED, nil); err != nil {
		t.Fatalf("the worker does not come to %s: %v", point, err)
	}
	return c
}

func (c *contest) requireReady() {
	c.t.Helper()
	if said, err := io.ReadAll(c.says); err != nil || len(said) > 0 {
		c.t.Fatalf("the worker says %q, %v", said, err)
	}
}

// resume lets the worker go on, or kills it where it stands.
func (c *contest) resume(kill bool) {
	if kill {
		c.cmd.Process.Kill()
		<-c.ended
		return
	}
	c.cmd.Process.Signal(syscall.SIGCONT)
}

// fight lets all contestants reserve the name at once and returns what each got.
func (c *contest) fight() (won []*endpoint.Reservation) {
	c.t.Helper()
	got := make([]*endpoint.Reservation, c.many)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			r, err := c.folder.Reserve(c.id)
			if err != nil && !errors.Is(err, endpoint.ErrReserved) {
				c.t.Errorf("reserve: %v", err)
			}
			got[i] = r
		})
	}
	all.Wait()
	return slices.DeleteFunc(got, func(r *endpoint.Reservation) bool { return r == nil })
}

// names is what stands in the folder, by name and inode.
func (c *contest) names() (all []string) {
	c.t.Helper()
	paths, err := filepath.Glob(filepath.Join(c.folder.Path(), "*"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, path := range paths {
		st, err := os.Lstat(path)
		if err != nil {
			c.t.Fatal(err)
		}
		all = append(all, fmt.Sprint(filepath.Base(path), st.Sys().(*syscall.Stat_t).Ino))
	}
	return all
}

func (c *contest) requireNoOwner() {
	c.t.Helper()
	before := c.names()
	if won := c.fight(); len(won) > 0 {
		c.t.Errorf("%d got a name that is held", len(won))
	}
	if err := c.folder.Sweep(c.id); !errors.Is(err, endpoint.ErrReserved) {
		c.t.Errorf("sweep: %v", err)
	}
	if held, err := c.folder.Locked(c.id); err != nil || !held {
		c.t.Errorf("locked: %v, %v", held, err)
	}
	if after := c.names(); !slices.Equal(before, after) {
		c.t.Errorf("%v became %v", before, after)
	}
}

// requireOneOwner wants one contestant to get the name, and to be found by it.
func (c *contest) requireOneOwner() {
	c.t.Helper()
	won := c.fight()
	if len(won) != 1 {
		c.t.Fatalf("%d of %d got the name", len(won), c.many)
	}
	var err error
	if c.owner, err = won[0].Listen(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := errors.Join(c.owner.Close(), won[0].Retire()); err != nil {
			c.t.Error(err)
		}
	})
	c.requireReachable()
}

func (c *contest) requireReachable() {
	c.t.Helper()
	if c.owner == nil {
		c.t.Fatal("nobody owns the name")
	}
	conn, err := c.folder.Dial(context.Background(), c.id)
	if err != nil {
		c.t.Fatalf("the owner is out of reach: %v", err)
	}
	defer conn.Close()
	if _, err := c.owner.Supervisor.AcceptUnix(); err != nil {
		c.t.Fatal(err)
	}
	if held, err := c.folder.Locked(c.id); err != nil || !held {
		c.t.Errorf("locked: %v, %v", held, err)
	}
}
