// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"io/fs"
	"net/netip"
	"slices"
	"time"

	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/loginenv"
)

// Env is what checks look at.
type Env struct {
	Version   string
	Account   loginenv.Account
	Folders   config.Folders
	WorkerDir string
	Effective config.Config // settings in force, or the file's when no spawnd runs
	Settings  Settings
	Daemon    *Daemon // nil when no spawnd runs

	Files    Files
	Limits   Limits
	Commands Commands
	Network  Network
	Canary   Canary
	Clock    Clock

	Extra []Check // of other rooms; they come last
}

func (e Env) table() []Check { return append(slices.Clone(checks), e.Extra...) }

// Daemon is the running spawnd.
type Daemon struct {
	PID     int
	Started time.Time      // as the wall clock said then
	Page    netip.AddrPort // where the page is served
	Peers   netip.AddrPort // where the channels are
	Workers []Worker
}

// Worker is one worker that spawnd knows.
type Worker struct {
	Session      string
	PID          int      // 0 when it is not connected
	Scope        string   // name of the scope that it should be in
	Capabilities []string // as its HELLO said
	Refused      string   // why it was not adopted; "" when it was
}

// Settings is the settings file. *config.Live and *config.File have it.
type Settings interface {
	Check() (config.CheckResult, error)
}

// reloaded is what *config.Live has besides.
type reloaded interface{ LastOutcome() config.Outcome }

// FileStat is what matters of a file.
type FileStat struct {
	UID, GID int // -1 where they are not told
	Mode     fs.FileMode
}

// Space is what a file system has.
type Space struct {
	Free   uint64 // bytes that this user may still write
	Memory bool   // it does not outlive a reboot
}

// Files looks at files. Errors satisfy fs.ErrNotExist where that is what is wrong.
type Files interface {
	Lstat(path string) (FileStat, error) // of a link itself
	Stat(path string) (FileStat, error)  // of what a link leads to
	Read(path string) (string, error)    // a small file
	Space(path string) (Space, error)
	Open(path string) error // opens a device for reading and writing, and closes it
}

// Limit names a resource limit of this process.
type Limit uint8

const (
	OpenFiles    Limit = 1 // descriptors
	LockedMemory Limit = 2 // bytes
	Processes    Limit = 3 // of the user
)

// Unlimited is a limit that there is not.
const Unlimited = ^uint64(0)

// Limits tells resource limits. The error is errors.ErrUnsupported where there is no such limit.
type Limits interface {
	Limit(l Limit) (soft, hard uint64, err error)
}

// Commands runs a program of the system and returns what it wrote.
type Commands interface {
	Run(ctx context.Context, name string, args ...string) (string, error)
}

// Network tries this machine's own network.
type Network interface {
	// Loop binds the address for "udp" or "tcp", sends to itself and reads it again.
	Loop(ctx context.Context, network string, at netip.AddrPort) error
	// Reach connects by TCP.
	Reach(ctx context.Context, at netip.AddrPort) error
	// Ask sends GET / to the page as a browser would for that host and origin ("" for none), and returns the
	// status code.
	Ask(ctx context.Context, page netip.AddrPort, host, origin string) (int, error)
}

// Canary starts terminals of its own and ends them.
type Canary interface {
	// Survive lets one outlive a supervisor. The error says at which step it did not.
	Survive(ctx context.Context) error
	// Capabilities are those that a worker of this build lists.
	Capabilities(ctx context.Context) ([]string, error)
}

// Clock tells time in two ways, which differ when somebody sets the clock.
type Clock interface {
	Now() time.Time         // wall clock
	Running() time.Duration // since Daemon.Started, by a clock that nobody sets
}
