// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/coreos/go-systemd/v22/daemon"
)

// notifyReady tells systemd, when it started us, that terminals are adopted and the page is served. The
// variable is taken away so that nothing we start can speak in our name.
func notifyReady() error {
	if _, err := daemon.SdNotify(true, daemon.SdNotifyReady); err != nil {
		return fmt.Errorf("tell systemd that spawnd is ready: %w", err)
	}
	return nil
}
