// SPDX-License-Identifier: Apache-2.0

// Package loopback reads the addresses that no other machine can reach.
package loopback

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
)

// ErrElsewhere means that the address could be reached from other machines.
var ErrElsewhere = errors.New("only loopback addresses can be listened on: 127.0.0.1:PORT, [::1]:PORT or localhost:PORT")

var errPort = errors.New("the port is not a number up to 65535")

// Parse reads HOST:PORT. "localhost" is 127.0.0.1: what the name resolves to is not asked.
func Parse(address string) (netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return netip.AddrPort{}, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return netip.AddrPort{}, errPort
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	addr, err := netip.ParseAddr(host)
	if err != nil || !addr.IsLoopback() || addr.Is4In6() || addr.Zone() != "" {
		return netip.AddrPort{}, ErrElsewhere
	}
	return netip.AddrPortFrom(addr, uint16(number)), nil
}
