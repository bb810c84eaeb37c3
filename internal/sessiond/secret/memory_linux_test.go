// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"spawn/internal/unmet"
)

// The tests of what is in memory look at a child, this binary run again, from outside: whatever
// looks from inside makes the copies that it counts. The role says what the child does before it
// prints one line and waits for the end of its standard input.
const roleVar = "SPAWN_SECRET_TEST_ROLE"

const nobody = 65534

func TestMain(m *testing.M) {
	role, isChild := os.LookupEnv(roleVar)
	if !isChild {
		os.Exit(m.Run())
	}
	line, err := childRoles[role]()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(line)
	_, _ = io.Copy(io.Discard, os.Stdin) // any end of it will do
	os.Exit(0)
}

var childRoles = map[string]func() (string, error){
	"work":     childWork,
	"hardened": childHardened,
	"unlocked": childUnlocked,
	"mute":     childMute,
	"peek":     childPeek,
}

var childKey *Key // kept, so that the page is in use while the parent looks

// childWork uses a key in all ways and prints where it is.
func childWork() (string, error) {
	var err error
	if childKey, err = NewKey(); err != nil {
		return "", err
	}
	for i := range 300 {
		done := make(chan error)
		go func() { done <- useAtDepth(childKey, i%40, i*53) }()
		if err := errors.Join(<-done, useAtDepth(childKey, i%40, i*71)); err != nil {
			return "", err
		}
		if i%20 == 0 {
			runtime.GC()
		}
	}
	return strconv.FormatUint(uint64(uintptr(unsafe.Pointer(&childKey.page[0]))), 16), childKey.Warning()
}

// useAtDepth seals and opens n bytes below depth frames, so from all over a stack that grows.
func useAtDepth(k *Key, depth, n int) error {
	var frame [300]byte
	if depth > 0 {
		err := useAtDepth(k, depth-1, n)
		runtime.KeepAlive(&frame)
		return err
	}
	nonce, aead := make([]byte, 12), k.AEAD()
	sealed := aead.Seal(nil, nonce, make([]byte, n), nonce)
	_, err := aead.Open(nil, nonce, sealed, nonce)
	sealed[n/2] ^= 1
	if _, failed := aead.Open(nil, nonce, sealed, nonce); failed == nil {
		return errors.New("opened a changed text")
	}
	return err
}

// childHardened prints its key, which is then in more places, and would dump core if it could.
func childHardened() (string, error) {
	if err := Harden(); err != nil {
		return "", err
	}
	limit := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &limit) // as an attacker within would; refused if not root
	if _, err := childWork(); err != nil {
		return "", err
	}
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	return fmt.Sprintf("%d %x", dumpable, childKey.page[:KeyBytes]), err
}

// childUnlocked makes a key where no page may be locked.
func childUnlocked() (string, error) {
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{}); err != nil {
		return "", err
	}
	k, err := NewKey()
	if err != nil {
		return "", err
	}
	return fmt.Sprint(k.Warning()), useAtDepth(k, 0, 100)
}

func childMute() (string, error) {
	return "", Harden()
}

// childPeek tries to open the memory of the process that its environment names.
func childPeek() (string, error) {
	_, err := os.Open("/proc/" + os.Getenv("SPAWN_SECRET_TEST_PID") + "/mem")
	return fmt.Sprint(err), nil
}

type child struct {
	*exec.Cmd
	line   string // what it printed
	stdin  io.Closer
	stderr *bytes.Buffer
}

// start runs a child as role, and as an ordinary user if asked for and possible.
func start(t *testing.T, role string, ordinary bool, env ...string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command("/proc/self/exe"), stderr: new(bytes.Buffer)}
	c.Dir, c.Stderr = t.TempDir(), c.stderr
	c.Env = append(os.Environ(), append(env, roleVar+"="+role)...)
	if ordinary && os.Geteuid() == 0 {
		c.Path = readableCopy(t)
		c.Dir = "/"
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	var err error
	if c.stdin, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.stdin.Close() // ends it
		_ = c.Wait()        // a test that cares for the status has waited before
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("child %s: %v\n%s", role, err, c.stderr)
	}
	c.line = strings.TrimSuffix(line, "\n")
	return c
}

// readableCopy puts this binary where every user may run it.
func readableCopy(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "secret-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	binary, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "secret.test")
	if err := errors.Join(os.WriteFile(path, binary, 0o755), os.Chmod(path, 0o755), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKeyPageIsLockedAndNotDumped(t *testing.T) {
	k := newKey(t)
	if k.Warning() != nil {
		unmet.Skip(t, "this system refuses to protect the page: %v", k.Warning())
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(smaps), fmt.Sprintf("%x-", uintptr(unsafe.Pointer(&k.page[0]))))
	if !found {
		t.Fatal("the key page is not a mapping of its own")
	}
	_, rest, _ = strings.Cut(rest, "VmFlags:")
	flags, _, _ := strings.Cut(rest, "\n")
	for _, want := range []string{"lo", "dd", "wf"} { // locked, not dumped, wiped on fork
		if !strings.Contains(flags, " "+want) {
			t.Errorf("flag %s is missing of %s", want, flags)
		}
	}
}

func TestRefusedLockIsAWarning(t *testing.T) {
	c := start(t, "unlocked", true)
	if !strings.Contains(c.line, "lock key page") {
		t.Errorf("warning %q", c.line)
	}
}

func TestHardenedProcessLeavesNoCore(t *testing.T) {
	c := start(t, "hardened", false, "GOTRACEBACK=crash")
	dumpable, keyHex, _ := strings.Cut(c.line, " ")
	if dumpable != "0" {
		t.Errorf("dumpable is %s", dumpable)
	}
	key, err := hex.DecodeString(keyHex)
	if err != nil || len(key) != KeyBytes {
		t.Fatalf("child printed %q", c.line)
	}
	if err := c.Process.Signal(unix.SIGABRT); err != nil {
		t.Fatal(err)
	}
	var ended *exec.ExitError
	if err := c.Wait(); !errors.As(err, &ended) {
		t.Fatalf("ended with %v", err)
	}
	if ended.Sys().(syscall.WaitStatus).CoreDump() {
		t.Error("dumped core")
	}
	if files, _ := os.ReadDir(c.Dir); len(files) > 0 {
		t.Errorf("left %v", files)
	}
	if text := c.stderr.Bytes(); bytes.Contains(text, key) || bytes.Contains(text, key[:8]) {
		t.Error("the crash report holds key bytes")
	} else if !bytes.Contains(text, []byte("SIGABRT")) {
		t.Errorf("no crash report to search: %s", text)
	}
}

func TestHardenedProcessIsClosedToItsUser(t *testing.T) {
	for role, open := range map[string]bool{"work": true, "mute": false} {
		c := start(t, role, true)
		peek := start(t, "peek", true, fmt.Sprintf("SPAWN_SECRET_TEST_PID=%d", c.Process.Pid))
		if got := peek.line == "<nil>"; got != open {
			t.Errorf("%s: opening its memory: %s", role, peek.line)
		}
	}
}
