// SPDX-License-Identifier: Apache-2.0

package loopback_test

import (
	"errors"
	"net/netip"
	"testing"

	"spawn/internal/supervisor/loopback"
)

func TestOnlyThisMachineCanReachWhatPasses(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:7717": "127.0.0.1:7717", "localhost:0": "127.0.0.1:0", "[::1]:65535": "[::1]:65535", "127.9.9.9:1": "127.9.9.9:1",
	} {
		if got, err := loopback.Parse(address); err != nil || got != netip.MustParseAddrPort(want) {
			t.Errorf("Parse(%q) = %v, %v", address, got, err)
		}
	}
	for _, address := range []string{"0.0.0.0:1", "[::]:1", ":1", "10.0.0.1:1", "example.org:1", "[::ffff:127.0.0.1]:1", "[::1%lo]:1"} {
		if _, err := loopback.Parse(address); !errors.Is(err, loopback.ErrElsewhere) {
			t.Errorf("Parse(%q) = %v", address, err)
		}
	}
	for _, address := range []string{"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:http"} {
		if _, err := loopback.Parse(address); err == nil || errors.Is(err, loopback.ErrElsewhere) {
			t.Errorf("Parse(%q) = %v", address, err)
		}
	}
}
