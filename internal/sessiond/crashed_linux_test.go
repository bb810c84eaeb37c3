// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"spawn/internal/procmem"
	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/secret"
	"spawn/internal/strictjson"
	"spawn/internal/unmet"
)

// talkative is a worker that puts descriptor 4, and not /dev/null, in the place of its standard error when it is ready, and
// panics on SIGUSR1. In everything else it is the worker.
func talkative(t *testing.T) string {
	t.Helper()
	sources, err := filepath.Abs("../../cmd/spawn-worker")
	if err != nil {
		t.Fatal(err)
	}
	silencer := filepath.Join(sources, "descriptors_unix.go")
	const silence, talk = "replace(null, 2)", "replace(4, 2)"
	text := readFile(t, silencer)
	if strings.Count(text, silence) != 1 {
		t.Fatalf("%s falls silent in another way", silencer)
	}
	folder := t.TempDir()
	put := func(name, text string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	overlay, err := strictjson.Marshal(map[string]map[string]string{"Replace": {
		silencer: put("descriptors_unix.go", strings.Replace(text, silence, talk, 1)),
		filepath.Join(sources, "planted.go"): put("planted.go", `package main

import ("os"; "os/signal"; "syscall")

func init() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() { <-asked; panic("planted") }()
}
`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "spawn-worker")
	if said, err := exec.Command("go", "build", "-overlay", put("overlay.json", string(overlay)), "-o", path, "spawn/cmd/spawn-worker").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return path
}

// T37: a worker that dies with a full account of itself, and may leave a core, tells in neither what its terminal showed nor its
// key. What is looked for is in its memory at that moment.
func TestACrashTellsNothing(t *testing.T) {
	unmet.Root(t, "read a worker's memory")
	const marker = "SHOWN-ON-THE-TERMINAL"
	worker := talkative(t)
	for signal, says := range map[syscall.Signal]string{
		syscall.SIGABRT: "SIGABRT: abort", syscall.SIGSEGV: "SIGSEGV: segmentation violation", syscall.SIGQUIT: "SIGQUIT: quit",
		syscall.SIGUSR1: "panic: planted",
	} {
		folder, id := openTestFolder(t), endpoint.NewSessionID()
		account, err := os.Create(filepath.Join(t.TempDir(), "account"))
		if err != nil {
			t.Fatal(err)
		}
		defer account.Close()
		cmd := exec.Command(worker, "--session-id", id.String(), "--worker-dir", folder.Path())
		cmd.Env, cmd.ExtraFiles = []string{"HOME=/", asSpawndStartsIt, "GOTRACEBACK=crash"}, []*os.File{account}
		p, complaint := executeCommand(t, cmd, folder, id)
		if complaint != "" {
			t.Fatalf("worker complains: %s", complaint)
		}
		peer := dial(t, p.folder, p.id)
		peer.startScript("seq 1 2000 | sed s/^/%s/; echo ready; cat", marker)
		peer.untilOutput("ready\r\n")
		if _, stream := peer.replay(everything); strings.Count(stream, marker) < 2000 {
			t.Fatalf("%v: %d markers in the replay", signal, strings.Count(stream, marker))
		}
		key := keyOf(t, p.cmd.Process.Pid)
		limit := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
		if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_CORE, &limit, nil); err != nil {
			t.Fatal(err)
		}
		if err := p.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		p.await()
		if status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); status.CoreDump() {
			t.Errorf("%v: it dumped core", signal)
		}
		told, err := os.ReadFile(account.Name())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(told, []byte(says)) || !bytes.Contains(told, []byte("goroutine ")) {
			t.Fatalf("%v: this is no account of a death: %.2000s", signal, told)
		}
		if runtime.GOARCH == "amd64" && signal != syscall.SIGUSR1 && !bytes.Contains(told, []byte("\nrip ")) {
			t.Fatalf("%v: the account has no registers: %s", signal, told)
		}
		requireUntold(t, fmt.Sprintf("%v, its account", signal), told, key, marker)
		for _, file := range filesBelow(t, folder.Path()) {
			requireUntold(t, fmt.Sprintf("%v, %s", signal, file), []byte(readFile(t, file)), key, marker)
		}
	}
}

// keyOf reads a worker's key.
func keyOf(t *testing.T, pid int) []byte {
	t.Helper()
	return bytes.Clone(readAt(t, procmem.Of(t, pid), keyPage(t, pid), secret.KeyBytes))
}

// requireUntold wants neither the key nor the text in what a worker left: not as it is, not in hexadecimal, and no eight bytes of
// them as a register or an argument is printed.
func requireUntold(t *testing.T, where string, told, key []byte, marker string) {
	t.Helper()
	for name, bytesOf := range map[string][]byte{"the key": key, "text": []byte(marker)} {
		for i := range len(bytesOf) - 7 {
			word := bytesOf[i : i+8]
			for _, form := range [][]byte{
				word, []byte(hex.EncodeToString(word)),
				fmt.Appendf(nil, "0x%x", binary.LittleEndian.Uint64(word)), fmt.Appendf(nil, "0x%x", binary.BigEndian.Uint64(word)),
			} {
				if bytes.Contains(told, form) {
					t.Errorf("%s tells of %s, from byte %d", where, name, i)
				}
			}
		}
	}
}

func filesBelow(t *testing.T, folder string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
