// SPDX-License-Identifier: Apache-2.0

// Package supervisor is spawnd: it builds its rooms, runs them, and closes them in reverse.
//
//	locks ─ settings ─ worker folder ─ fleet ─ panes (adopted) ─ checkpoints ─ door, rights ─ control socket ─ peers ─ HTTP ─ ready
//
// Nothing that a terminal needs is in here. A spawnd that is killed at any point is followed by one that
// adopts the same workers.
package supervisor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/descriptors"
	"spawn/internal/supervisor/events"
	"spawn/internal/supervisor/fleet"
	"spawn/internal/supervisor/loginenv"
	"spawn/internal/supervisor/page"
	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/rtc"
	"spawn/internal/supervisor/shellmarks"
	"spawn/internal/supervisor/signaling"
	"spawn/internal/supervisor/texts"
	"spawn/internal/supervisor/topology"
	"spawn/internal/supervisor/verbs"
)

// ErrRunning means that another spawnd serves these folders. Nothing was touched.
var ErrRunning = errors.New("another spawnd serves this folder")

// workerLock keeps a second spawnd off a worker folder that it reached by other variables. The name is no
// session id, so no scan takes it for a worker's.
const workerLock = "spawnd.lock"

// Options say where spawnd serves and what.
type Options struct {
	Listen     string              // loopback address of the page; port 0 picks one; "" leaves it to the settings
	PeerPort   *uint16             // of the channels, on the same address; 0 picks one; nil leaves it to the settings
	Getenv     func(string) string // the environment that names the folders
	Environ    []string            // what shells inherit, cleaned
	WorkerPath string              // of spawn-worker
	App        fs.FS               // the built page
	Version    string              // of this build
	Log        *slog.Logger
}

// Supervisor is a spawnd that is ready to serve.
type Supervisor struct {
	o         Options
	closers   []io.Closer // in the order of opening; closed in reverse
	settings  *config.Live
	inForce   inForce // what of them counts now
	panes     *panes
	keeper    *keeper // of checkpoints
	pages     *pages
	server    *signaling.Server
	control   *verbs.Listener
	door      *access.Door
	started   time.Time
	authority *access.Authority
	admitted  admissions

	account   loginenv.Account
	folders   config.Folders
	folder    *endpoint.Folder // of the workers
	scoper    fleet.Scoper
	page      netip.AddrPort // where the page is served
	examining chan struct{}  // 1 slot: one look of the doctor at a time

	runs texts.Runs

	stop  context.CancelFunc     // ends Serve
	asked atomic.Pointer[string] // what server.shutdown wants of the terminals; nil when nobody asked
	// lastWord is called when the terminals end with spawnd: what ran has ended and is reaped, whole tells
	// whether all of it, and the tree still has every pane with its end. nil without recovery.
	lastWord func(ctx context.Context, whole bool) error
}

// Open takes the locks, adopts what lives, and opens all ways in. On error nothing stays open.
func Open(ctx context.Context, o Options) (*Supervisor, error) {
	s := &Supervisor{o: o, started: time.Now(), examining: make(chan struct{}, 1)}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.closeRooms())
	}
	return s, nil
}

func (s *Supervisor) open(ctx context.Context) error {
	account, folders, err := whereabouts(s.o)
	if err != nil {
		return err
	}
	s.account, s.folders = account, folders
	if err := folders.Create(); err != nil {
		return err
	}
	if err := s.lock(folders.Lock()); err != nil {
		return err
	}
	failpoint.Pass(failpoint.HostLocked)
	if err := s.openSettings(folders); err != nil {
		return err
	}
	if err := s.openPanes(ctx, folders, account); err != nil {
		return err
	}
	if err := s.openRecovery(folders); err != nil {
		return err
	}
	if err := s.openRights(folders); err != nil {
		return err
	}
	if err := s.openControl(folders); err != nil {
		return err
	}
	return s.openPages()
}

// whereabouts are the user and the folders that the environment names.
func whereabouts(o Options) (loginenv.Account, config.Folders, error) {
	account, err := loginenv.Current(o.Getenv)
	if err != nil {
		return account, config.Folders{}, err
	}
	folders, err := config.Resolve(o.Getenv, account.Home)
	return account, folders, err
}

func (s *Supervisor) lock(path string) error {
	held, err := takeLock(path)
	if err == nil {
		s.closers = append(s.closers, held)
	}
	return err
}

func (s *Supervisor) openPanes(ctx context.Context, folders config.Folders, account loginenv.Account) error {
	path, err := endpoint.WorkerDir(s.o.Getenv, folders.Config)
	if err != nil {
		return err
	}
	folder, err := endpoint.OpenFolder(path)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, closerFunc(func() error { folder.Close(); return nil }))
	if err := s.lock(folder.Path() + string(os.PathSeparator) + workerLock); err != nil {
		return err
	}
	failpoint.Pass(failpoint.WorkersLocked)
	s.folder = folder
	if s.scoper, err = fleet.DetectScoper(ctx); err != nil {
		s.o.Log.Info("workers get no scope of their own", "because", err)
		if s.inForce.terminalLimits() != (fleet.Limits{}) {
			s.o.Log.Warn("limits of a terminal do not hold: they need a scope")
		}
	}
	marks, err := shellmarks.Install(folders.ShellScripts())
	if err != nil {
		return err
	}
	s.keeper = newKeeper(s.o.Log)
	s.panes = &panes{
		marks:   marks,
		fleet:   fleet.New(fleet.Options{Folder: folder, WorkerPath: s.o.WorkerPath, Scoper: s.scoper, Log: s.o.Log}),
		store:   topology.NewStore(folders.Topology()),
		account: account, environ: s.o.Environ, version: s.o.Version, inForce: s.inForce, log: s.o.Log,
		board: page.NewBoard(), dirty: make(chan struct{}, 1), keeper: s.keeper, relaunching: make(chan struct{}, 1),
	}
	source, err := events.NewSource(rand.Reader)
	if err != nil {
		return err
	}
	s.panes.told = newChronicle(s.panes, source, s.o.Log)
	s.closers = append(s.closers, s.panes.told)
	if err := openPanes(ctx, s.panes); err != nil {
		return err
	}
	s.closers = append(s.closers, closerFunc(s.panes.close))
	return nil
}

// openRecovery comes behind the locks and the panes: what lives says whether this spawnd goes on from the one
// before, and nobody else may touch the store.
func (s *Supervisor) openRecovery(folders config.Folders) error {
	s.closers = append(s.closers, s.keeper)
	if err := s.keeper.open(folders, os.Getuid(), s.inForce.recovery(), s.panes); err != nil {
		return err
	}
	s.settings.SubscribeLast(s.keeper)
	s.lastWord = func(ctx context.Context, whole bool) error {
		if !whole {
			return nil // what may still run was not ended: the last good checkpoint stands
		}
		return s.keeper.final(ctx, recovery.ShutdownClean)
	}
	return nil
}

func (s *Supervisor) openControl(folders config.Folders) error {
	ln, err := verbs.Listen(folders.ControlSocket())
	if err != nil {
		return err
	}
	failpoint.Pass(failpoint.ControlBound)
	s.control = ln
	s.closers = append(s.closers, ln)
	return nil
}

func (s *Supervisor) openPages() error {
	ln, err := signaling.Listen(s.inForce.listen())
	if err != nil {
		return err
	}
	failpoint.Pass(failpoint.PageBound)
	at := ln.Addr().(*net.TCPAddr).AddrPort()
	s.page = at
	// The channels are on the same loopback address as the page, on a port of their own.
	peers, err := rtc.Listen(s.inForce.peers(at.Addr()), s.o.Log)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	s.closers = append(s.closers, peers)
	host := hostName()
	s.pages = &pages{
		host: s, endpoint: peers, panes: s.panes, board: s.panes.board, log: s.o.Log,
		server: page.Server{Version: s.o.Version, HostName: host, Source: s.panes.told.log.Source()},
		verbs:  verbs.NewDispatcher(verbs.Options{Server: verbServer{s}, Authority: judge{s.authority}, Log: s.o.Log}),
	}
	s.server, err = signaling.New(descriptors.Guard(ln), signaling.Options{Door: s.door, Links: s.authority, Peers: s.pages, App: s.o.App, HostName: host, Log: s.o.Log})
	return err
}

// URL is the address of the page, for browsers that are paired.
func (s *Supervisor) URL() string { return s.server.URL() }

// PairURL makes the address that pairs one more browser.
func (s *Supervisor) PairURL() (string, error) { return pair(s.door, s.server) }

// Serve serves until ctx ends or a way in breaks, then detaches: pages and the control socket end,
// workers go on, unless the settings want terminals to end with spawnd. It returns when every goroutine has
// ended.
func (s *Supervisor) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	serving, end := context.WithCancel(context.WithoutCancel(ctx)) // a moment longer, for the last event
	defer end()
	s.pages.ctx, s.stop = serving, cancel
	var errs [2]error
	var ways sync.WaitGroup
	ways.Go(func() { <-ctx.Done(); s.panes.stop(); end() })
	ways.Go(func() { s.authority.Run(serving) })
	ways.Go(func() { s.settleRights(serving) })
	ways.Go(func() { errs[0] = s.server.Serve(serving); cancel() })
	ways.Go(func() {
		errs[1] = verbs.Serve(serving, s.control, verbs.Options{
			Server: verbServer{s}, CheckPeer: endpoint.CheckPeer, Identity: identity{s}, Authority: judge{s.authority}, Log: s.o.Log,
		})
		cancel()
	})
	ways.Go(func() { s.watchSettings(ctx) })
	ways.Go(func() { s.keeper.run(ctx) })
	ways.Wait()
	failpoint.Pass(failpoint.WaysClosed)
	return errors.Join(errs[0], errs[1], s.endTerminals(ctx))
}

// Close closes all rooms in reverse, after Serve or instead of it.
func (s *Supervisor) Close() error {
	err := s.closeRooms()
	if s.pages != nil {
		s.pages.serving.Wait()
	}
	return err
}

func (s *Supervisor) closeRooms() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		if err := s.closers[i].Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	s.closers = nil
	if len(errs) > 0 {
		return fmt.Errorf("close: %w", errors.Join(errs...))
	}
	return nil
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }

func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "this host"
	}
	return name
}
