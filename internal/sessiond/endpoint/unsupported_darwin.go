// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// Darwin has no credentials on single datagrams, by which Linux tells our user's requests from
// others', and no bind relative to a directory. Until both have a substitute of the same strength,
// nothing listens there.

// LifecycleListener receives lifecycle requests.
type LifecycleListener struct {
	conn   *net.UnixConn
	folder *Folder
	stem   string
}

func (l *LifecycleListener) Refused() uint64 { return 0 }

func (l *LifecycleListener) Serve(context.Context, InstanceID, func(Signal) Ack) error {
	return fmt.Errorf("serve lifecycle requests: %w", errors.ErrUnsupported)
}

// Held is the path: there is none to a descriptor's folder.
func (f *Folder) Held() string { return f.path }

func listenStream(*Folder, string) (*net.UnixListener, error) { return nil, errors.ErrUnsupported }

func listenDatagrams(*Folder, string) (*net.UnixConn, error) { return nil, errors.ErrUnsupported }

func (f *Folder) Dial(context.Context, SessionID) (*net.UnixConn, error) {
	return nil, fmt.Errorf("dial worker: %w", errors.ErrUnsupported)
}

func (f *Folder) DialName(context.Context, string) (*net.UnixConn, error) {
	return nil, fmt.Errorf("dial daemon: %w", errors.ErrUnsupported)
}

func (f *Folder) Signal(context.Context, SessionID, InstanceID, Signal) (Ack, error) {
	return 0, fmt.Errorf("signal worker: %w", errors.ErrUnsupported)
}
