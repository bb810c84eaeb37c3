// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"time"
)

const (
	readMax = 64 << 10 // bytes of a file of the system
	saidMax = 4 << 10  // bytes of a command's output
)

// Real is this machine: Files, Limits, Commands and Network.
type Real struct{}

var (
	_ Files    = Real{}
	_ Limits   = Real{}
	_ Commands = Real{}
	_ Network  = Real{}
)

// Lstat implements Files.
func (Real) Lstat(path string) (FileStat, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return FileStat{}, err
	}
	return statOf(st), nil
}

// Stat implements Files.
func (Real) Stat(path string) (FileStat, error) {
	st, err := os.Stat(path)
	if err != nil {
		return FileStat{}, err
	}
	return statOf(st), nil
}

func statOf(st os.FileInfo) FileStat {
	uid, gid := ownerOf(st)
	return FileStat{UID: uid, GID: gid, Mode: st.Mode()}
}

// Read implements Files.
func (Real) Read(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, readMax))
	return string(text), err
}

// Open implements Files.
func (Real) Open(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|notControlling, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// Run implements Commands.
func (Real) Run(ctx context.Context, name string, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout = &limited{&out, saidMax}
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return out.String(), nil
}

// limited drops what is too much.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.to.Write(p[:n])
	return len(p), nil
}

// loopWord is what goes through the loop.
const loopWord = "spawn"

// Loop implements Network.
func (Real) Loop(ctx context.Context, network string, at netip.AddrPort) error {
	if network == "udp" {
		return loopPackets(ctx, at)
	}
	return loopStream(ctx, at)
}

func loopPackets(ctx context.Context, at netip.AddrPort) error {
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline) // a socket that was just made takes it
	}
	if _, err := conn.WriteTo([]byte(loopWord), conn.LocalAddr()); err != nil {
		return err
	}
	return expect(conn)
}

func loopStream(ctx context.Context, at netip.AddrPort) error {
	ln, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return err
	}
	defer ln.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = ln.SetDeadline(deadline)
	}
	// The kernel completes the connection before anybody accepts it.
	var d net.Dialer
	out, err := d.DialContext(ctx, "tcp", ln.Addr().String())
	if err != nil {
		return err
	}
	defer out.Close()
	in, err := ln.Accept()
	if err != nil {
		return err
	}
	defer in.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = in.SetDeadline(deadline)
	}
	if _, err := out.Write([]byte(loopWord)); err != nil {
		return err
	}
	return expect(in)
}

func expect(r io.Reader) error {
	word := make([]byte, len(loopWord))
	if _, err := io.ReadFull(r, word); err != nil {
		return err
	}
	if string(word) != loopWord {
		return errors.New("something else came back")
	}
	return nil
}

// Reach implements Network.
func (Real) Reach(ctx context.Context, at netip.AddrPort) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", at.String())
	if err != nil {
		return err
	}
	return conn.Close()
}

// Ask implements Network.
func (Real) Ask(ctx context.Context, page netip.AddrPort, host, origin string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+page.String()+"/", nil)
	if err != nil {
		return 0, err
	}
	req.Host = host
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	transport := &http.Transport{DisableKeepAlives: true, Proxy: nil} // no proxy: it is this machine that is asked
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// RealClock counts from the start of spawnd.
type RealClock struct{ Started time.Time } // as time.Now returned it

// Now implements Clock.
func (RealClock) Now() time.Time { return time.Now() }

// Running implements Clock.
func (c RealClock) Running() time.Duration { return time.Since(c.Started) }

// Space implements Files.
func (Real) Space(path string) (Space, error) { return spaceAt(path) }
