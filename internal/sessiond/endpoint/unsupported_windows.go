// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
)

// Windows needs named pipes with a protected DACL and an exclusive HANDLE in place of all this.
// Until they exist every operation says so, and no object of another kind can come to be.

const sunPathMax = 107

func unsupported(what string) error { return fmt.Errorf("%s: %w", what, errors.ErrUnsupported) }

type Folder struct{ path string }

func OpenFolder(path string) (*Folder, error) { return nil, unsupported("open worker folder " + path) }

func (f *Folder) Path() string { return f.path }
func (f *Folder) Held() string { return f.path }
func (f *Folder) Close()       {}

func (f *Folder) Reserve(SessionID) (*Reservation, error) { return nil, unsupported("reserve session") }

func (f *Folder) ReserveName(string) (*Reservation, error) { return nil, unsupported("reserve name") }

func (f *Folder) Scan() ([]SessionID, error)      { return nil, unsupported("scan worker folder") }
func (f *Folder) Locked(SessionID) (bool, error)  { return false, unsupported("probe session") }
func (f *Folder) LockedName(string) (bool, error) { return false, unsupported("probe name") }
func (f *Folder) Sweep(SessionID) error           { return unsupported("sweep session") }
func (f *Folder) SweepReplies() error             { return unsupported("sweep replies") }

func (f *Folder) Dial(context.Context, SessionID) (*net.UnixConn, error) {
	return nil, unsupported("dial worker")
}

func (f *Folder) DialName(context.Context, string) (*net.UnixConn, error) {
	return nil, unsupported("dial daemon")
}

func (f *Folder) Signal(context.Context, SessionID, InstanceID, Signal) (Ack, error) {
	return 0, unsupported("signal worker")
}

type Reservation struct{}

func Inherit(*Folder, SessionID, *os.File) (*Reservation, error) {
	return nil, unsupported("inherit reservation")
}

func (r *Reservation) File() *os.File                 { return nil }
func (r *Reservation) Release() error                 { return unsupported("release reservation") }
func (r *Reservation) Retire() error                  { return unsupported("retire reservation") }
func (r *Reservation) Listen() (*Endpoints, error)    { return nil, unsupported("listen") }
func (r *Reservation) ListenStream() (*Stream, error) { return nil, unsupported("listen") }

type Endpoints struct {
	Supervisor *net.UnixListener
	Lifecycle  *LifecycleListener
}

func (e *Endpoints) Close() error { return nil }

type Stream struct{ *net.UnixListener }

type LifecycleListener struct{}

func (l *LifecycleListener) Refused() uint64 { return 0 }

func (l *LifecycleListener) Serve(context.Context, InstanceID, func(Signal) Ack) error {
	return unsupported("serve lifecycle requests")
}

func PeerUID(*net.UnixConn) (uint32, error) { return 0, unsupported("read peer credentials") }
