// SPDX-License-Identifier: Apache-2.0

package pty

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is also the process that adopts: it has no other children, whose ends it would take.
func TestMain(m *testing.M) {
	if script := os.Getenv("PTY_ADOPTER"); script != "" {
		if err := playAdopter(script); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// playAdopter runs the script on a terminal again and again. Each time the status has to be the program's own,
// and in the end no child may be left, dead or alive.
func playAdopter(script string) error {
	if err := AdoptOrphans(); err != nil {
		return err
	}
	const rounds = 40
	for i := range rounds {
		term, err := Start(Options{Argv: []string{"/bin/sh", "-c", script}, Cols: 80, Rows: 24, Env: []string{"PATH=/usr/bin:/bin"}})
		if err != nil {
			return err
		}
		stop, joined := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(joined)
			term.ReapOrphans(stop)
		}()
		output := make(chan []byte, 1)
		go func() {
			text, _ := io.ReadAll(io.LimitReader(term, 1<<16)) // ends with the last process on the terminal
			output <- text
		}()
		if status, err := term.Wait(); err != nil || status != (Status{Code: 7}) {
			return fmt.Errorf("round %d: the program ended with %+v, %v, want code 7", i, status, err)
		}
		if text := <-output; strings.Contains(string(text), "stranger") {
			return fmt.Errorf("round %d: an orphan has another parent:\n%s", i, text)
		}
		if err := awaitNoChild(); err != nil {
			return fmt.Errorf("round %d: %w", i, err)
		}
		close(stop)
		<-joined
		term.Close()
	}
	return nil
}

// awaitNoChild returns when the kernel knows of no child of ours, not even of a dead one.
func awaitNoChild() error {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for range 30_000 {
		err := unix.Waitid(unix.P_ALL, 0, &unix.Siginfo{}, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
		if errors.Is(err, unix.ECHILD) {
			return nil
		}
		<-look.C
	}
	return errors.New("children are left: zombies pile up")
}

// orphans ends with code 7 while processes that it left behind end before, with and after it.
const orphans = `
for i in 1 2 3 4 5 6 7 8; do
	(sh -c 'exit 3' &)
	(setsid sh -c '
		while read -r key value; do
			[ "$key" = PPid: ] && parent=$value
		done </proc/self/status
		exit 3
	' &)
done
exit 7`

// adoptedLate waits until it has no parent of its own any more, and says so when that is not the one it was told.
const adoptedLate = `
worker=$PPID
(setsid sh -c '
	while :; do
		while read -r key value; do
			[ "$key" = PPid: ] && parent=$value
		done </proc/$$/status
		[ "$parent" = "$0" ] && exit 0
		[ "$parent" = 1 ] && echo stranger && exit 1
	done' "$worker" &)
exit 7`

func TestOrphansAreAdoptedAndReaped(t *testing.T) {
	for name, script := range map[string]string{"many that end": orphans, "one that looks at its parent": adoptedLate} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "PTY_ADOPTER="+script)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// Without the call nothing is adopted, and nobody else's children are touched.
func TestOrphansAreAdoptedOnRequestAlone(t *testing.T) {
	if AdoptsOrphans() {
		t.Error("this process never asked for it")
	}
}
