// SPDX-License-Identifier: Apache-2.0

// Package loginenv decides with what shell, and in which environment, a new terminal starts.
package loginenv

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	passwdPath = "/etc/passwd"
	// passwdMax bounds how much of the user database is read, in bytes.
	passwdMax = 4 << 20
	// lastShell is there on every system that POSIX describes.
	lastShell = "/bin/sh"
)

// Account is what a login needs to know about a user.
type Account struct {
	Name  string // login name; may be empty when nothing knows it
	UID   int
	Home  string // absolute
	Shell string // absolute path of an executable
}

// Current is the account of this process's user: from the user database, then from HOME, USER and SHELL
// for users that only a directory service knows, then /bin/sh. The database's shell wins over $SHELL,
// because $SHELL is whatever the process that started spawnd had.
func Current(getenv func(string) string) (Account, error) {
	a := Account{UID: os.Getuid()}
	if f, err := os.Open(passwdPath); err == nil {
		defer f.Close()
		if found, ok := find(io.LimitReader(f, passwdMax), a.UID); ok {
			a = found
		}
	}
	return complete(a, getenv, executable)
}

// complete fills what the database left out. It fails only when no home is known.
func complete(a Account, getenv func(string) string, usable func(string) bool) (Account, error) {
	if a.Name == "" {
		a.Name = firstOf(getenv("USER"), getenv("LOGNAME"))
	}
	if !filepath.IsAbs(a.Home) {
		a.Home = getenv("HOME")
	}
	if !filepath.IsAbs(a.Home) {
		return Account{}, fmt.Errorf("find home of uid %d: neither %s nor HOME names one", a.UID, passwdPath)
	}
	for _, shell := range []string{a.Shell, getenv("SHELL"), lastShell} {
		if filepath.IsAbs(shell) && usable(shell) {
			a.Shell = shell
			return a, nil
		}
	}
	return Account{}, fmt.Errorf("find login shell of uid %d: %s does not run", a.UID, lastShell)
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// find returns the first entry of a passwd(5) stream with that uid. Lines that are no entry, such as the
// "+" lines of NIS, are passed over.
func find(r io.Reader, uid int) (Account, bool) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) != 7 || fields[2] != strconv.Itoa(uid) {
			continue
		}
		return Account{Name: fields[0], UID: uid, Home: fields[5], Shell: fields[6]}, true
	}
	return Account{}, false
}

func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// takesL are the shells that start a login shell on -l. Others would take it for a mistake.
var takesL = map[string]bool{
	"sh": true, "ash": true, "bash": true, "dash": true, "fish": true, "ksh": true, "ksh93": true, "mksh": true,
	"nu": true, "tcsh": true, "xonsh": true, "yash": true, "zsh": true,
}

// Argv is the command of the account's login shell.
func (a Account) Argv() []string {
	if takesL[filepath.Base(a.Shell)] {
		return []string{a.Shell, "-l"}
	}
	return []string{a.Shell}
}
