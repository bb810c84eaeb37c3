// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/godbus/dbus/v5"
)

const (
	managerPath  = "/org/freedesktop/systemd1"
	startMethod  = "org.freedesktop.systemd1.Manager.StartTransientUnit"
	jobRemoved   = "org.freedesktop.systemd1.Manager.JobRemoved"
	noProperty   = "org.freedesktop.DBus.Error.PropertyReadOnly"
	signalsMax   = 64 // signals that may wait while one job runs
	jobDone      = "done"
	destination  = "org.freedesktop.systemd1"
	failIfExists = "fail"
)

// Manager asks one service manager for scopes. It holds no connection: a manager may re-execute itself
// between two requests, and a request is rare.
type Manager struct{ place place }

// Detect finds the manager that is responsible for this process and checks that it answers, or returns
// an error that is ErrUnreachable.
func Detect(ctx context.Context) (*Manager, error) {
	cgroups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("read own control group: %w: %w", ErrUnreachable, err)
	}
	m := &Manager{placeOf(os.Getenv, os.Geteuid(), string(cgroups))}
	conn, err := m.dial(ctx)
	if err != nil {
		return nil, err
	}
	return m, conn.Close()
}

// dial speaks to the manager on its private socket, which needs no message bus. The connection ends with
// the context.
func (m *Manager) dial(ctx context.Context) (*dbus.Conn, error) {
	if _, err := os.Stat(m.place.socket); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	conn, err := dbus.Dial("unix:path="+dbus.EscapeBusAddressValue(m.place.socket), dbus.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w: %w", m.place.socket, ErrUnreachable, err)
	}
	if err := conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))}); err != nil {
		return nil, errors.Join(fmt.Errorf("dial %s: %w: %w", m.place.socket, ErrUnreachable, err), conn.Close())
	}
	return conn, nil
}

// property and auxiliary have the shapes a(sv) and a(sa(sv)) of the method's parameters.
type property struct {
	Name  string
	Value dbus.Variant
}

type auxiliary struct {
	Name       string
	Properties []property
}

// StartScope moves the process, with no other, into a new scope of that name and returns when the kernel
// says that it is there. What the process starts afterwards is born in the scope. The scope goes away by
// itself with its last process. The limits hold from the first moment on.
func (m *Manager) StartScope(ctx context.Context, name, description string, pid int, l Limits) error {
	if err := checkName(name); err != nil {
		return err
	}
	conn, err := m.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	signals := make(chan *dbus.Signal, signalsMax)
	conn.Signal(signals)
	if err := m.start(ctx, conn, signals, name, m.properties(description, pid, l)); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	return verify(name, pid)
}

// properties of the scope. Without SendSIGHUP a stop waits for shells, which ignore SIGTERM, until its
// time is over. Without OOMPolicy=continue a manager from version 253 on answers the OOM kill of one
// program by a stop of the whole terminal. It must be the last: see start.
func (m *Manager) properties(description string, pid int, l Limits) []property {
	all := []property{
		{"Description", dbus.MakeVariant(description)},
		{"PIDs", dbus.MakeVariant([]uint32{uint32(pid)})},
		{"Slice", dbus.MakeVariant(m.place.slice)},
		{"CollectMode", dbus.MakeVariant("inactive-or-failed")},
		{"SendSIGHUP", dbus.MakeVariant(true)},
	}
	for name, value := range map[string]uint64{"MemoryMax": l.MemoryMaxBytes, "TasksMax": l.TasksMax, "CPUWeight": l.CPUWeight} {
		if value != 0 {
			all = append(all, property{name, dbus.MakeVariant(value)})
		}
	}
	return append(all, property{"OOMPolicy", dbus.MakeVariant("continue")})
}

// start runs the job and waits for its end. Managers before version 253 know no OOMPolicy for scopes, and
// need none: the last property is then left out.
func (m *Manager) start(ctx context.Context, conn *dbus.Conn, signals <-chan *dbus.Signal, name string, props []property) error {
	var job dbus.ObjectPath
	manager := conn.Object(destination, managerPath)
	call := func(p []property) error {
		return manager.CallWithContext(ctx, startMethod, 0, name, failIfExists, p, []auxiliary{}).Store(&job)
	}
	err := call(props)
	if known := (dbus.Error{}); errors.As(err, &known) && known.Name == noProperty {
		err = call(props[:len(props)-1])
	}
	if err != nil {
		return err
	}
	return await(ctx, signals, job)
}

func await(ctx context.Context, signals <-chan *dbus.Signal, job dbus.ObjectPath) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case s, open := <-signals:
			if !open {
				return fmt.Errorf("await job: %w: connection lost", ErrUnreachable)
			}
			var id uint32
			var ended dbus.ObjectPath
			var unit, result string
			if s.Name != jobRemoved || dbus.Store(s.Body, &id, &ended, &unit, &result) != nil || ended != job {
				continue
			}
			if result != jobDone {
				return fmt.Errorf("await job: it ended as %q", result)
			}
			return nil
		}
	}
}

// verify trusts the kernel alone: a scope whose process could not be moved may still have started.
func verify(name string, pid int) error {
	cgroups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return fmt.Errorf("verify %s: %w", name, err)
	}
	if !inScope(string(cgroups), name) {
		return fmt.Errorf("verify %s: process %d is not in it", name, pid)
	}
	return nil
}
