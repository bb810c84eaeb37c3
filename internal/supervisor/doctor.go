// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/doctor"
	"spawn/internal/supervisor/fleet"
	"spawn/internal/supervisor/loginenv"
)

// Doctor looks at this spawnd and the machine that it is on. One run at a time; others wait until ctx ends.
func (s *Supervisor) Doctor(ctx context.Context, p doctor.Params, extra ...doctor.Check) (doctor.Report, error) {
	select {
	case s.examining <- struct{}{}:
		defer func() { <-s.examining }()
	case <-ctx.Done():
		return doctor.Report{}, ctx.Err()
	}
	env := environment(s.o, s.account, s.folders, s.folder.Path(), s.scoper)
	env.Settings, env.Effective, env.Extra = s.settings, s.settings.Effective(), append(extra, s.keeper.checks()...)
	env.Clock = doctor.RealClock{Started: s.started}
	env.Daemon = &doctor.Daemon{
		PID: os.Getpid(), Started: s.started, Page: s.page, Peers: s.pages.endpoint.Addr(),
		Workers: append(s.panes.workers(), s.refusedWorkers()...),
	}
	return doctor.Answer(ctx, env, p)
}

// Examine looks at the machine when no spawnd runs. It makes no folder but for its canary.
func Examine(ctx context.Context, o Options, p doctor.Params, extra ...doctor.Check) (doctor.Report, error) {
	account, folders, err := whereabouts(o)
	if err != nil {
		return doctor.Report{}, err
	}
	workers, err := endpoint.WorkerDir(o.Getenv, folders.Config)
	if err != nil {
		return doctor.Report{}, err
	}
	scoper, _ := fleet.DetectScoper(ctx) // that there is none is what the checks tell
	env := environment(o, account, folders, workers, scoper)
	file := config.OpenFile(folders.Settings())
	env.Settings, env.Extra, env.Clock = file, extra, doctor.RealClock{Started: time.Now()}
	if env.Effective, err = file.Load(); err != nil {
		env.Effective = config.Default() // the check of the file tells what is wrong
	}
	return doctor.Answer(ctx, env, p)
}

// environment is what both ways of looking have in common.
func environment(o Options, account loginenv.Account, folders config.Folders, workers string, scoper fleet.Scoper) doctor.Env {
	real := doctor.Real{}
	return doctor.Env{
		Version: o.Version, Account: account, Folders: folders, WorkerDir: workers,
		Files: real, Limits: real, Commands: real, Network: real,
		Canary: doctor.Nest{Folder: folders.Runtime, WorkerPath: o.WorkerPath, Scoper: scoper},
	}
}

// workers are those that are connected.
func (ps *panes) workers() []doctor.Worker {
	var out []doctor.Worker
	for _, p := range ps.driven() {
		p.mu.Lock()
		h := p.mu.handle
		p.mu.Unlock()
		if h != nil {
			out = append(out, doctor.Worker{
				Session: string(h.ID()), PID: h.WorkerPID(), Scope: fleet.ScopeName(h.ID()), Capabilities: h.Hello().Capabilities,
			})
		}
	}
	slices.SortFunc(out, func(a, b doctor.Worker) int { return strings.Compare(a.Session, b.Session) })
	return out
}

// refusedWorkers are those that were left alone at start and that still hold their reservation.
func (s *Supervisor) refusedWorkers() []doctor.Worker {
	var out []doctor.Worker
	for _, r := range s.panes.refused {
		if held, err := s.folder.Locked(r.ID); held || err != nil {
			out = append(out, doctor.Worker{Session: string(r.ID), Refused: string(r.Code)})
		}
	}
	return out
}
