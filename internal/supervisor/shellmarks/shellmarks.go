// SPDX-License-Identifier: Apache-2.0

// Package shellmarks lets bash, zsh and fish mark their prompts and commands (OSC 133, as FinalTerm wrote it)
// and tell their folder (OSC 7), without touching a file of the user's: each shell is started in a way that
// makes it read a script of ours first, which then undoes that start.
//
//	bash  --posix and ENV; the script reads the startup files that POSIX mode leaves out
//	zsh   ZDOTDIR; the script gives it back and reads the user's .zshenv
//	fish  XDG_DATA_DIRS; the script lies in fish/vendor_conf.d
//
// The marks are what lets a caller wait for the end of a command and learn its status. Each carries a nonce, as
// those of VS Code's integration do (OSC 633), so that what a program prints is not taken for the shell's word. The
// shell is given it in its environment, and takes it out of there before it reads a file of the user's.
package shellmarks

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed all:scripts
var scripts embed.FS

const (
	folderMode = 0o700
	fileMode   = 0o600
	// dataDirsDefault is what XDG_DATA_DIRS stands for when it is not set (XDG Base Directory Specification).
	dataDirsDefault = "/usr/local/share:/usr/share"

	// secretFile lies beside the scripts, and lives as long as they: as long as there can be a shell that has a
	// nonce.
	secretFile  = "secret"
	secretBytes = 32
	nonceBytes  = 16 // as many as a UUID has
)

// Scripts is a folder that holds the scripts. The zero value dresses nothing.
type Scripts struct {
	dir    string
	secret [secretBytes]byte
}

// Install writes the scripts below dir, which only we may write to, and replaces those of another version.
// Each file is replaced by a rename, so that a shell that starts meanwhile reads one or the other.
func Install(dir string) (Scripts, error) {
	root, err := fs.Sub(scripts, "scripts")
	if err != nil {
		return Scripts{}, fmt.Errorf("open shell scripts: %w", err)
	}
	err = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(path))
		if d.IsDir() {
			return makeFolder(to)
		}
		text, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		return replace(to, text)
	})
	if err != nil {
		return Scripts{}, fmt.Errorf("install shell scripts: %w", err)
	}
	s := Scripts{dir: dir}
	if err := s.openSecret(); err != nil {
		return Scripts{}, fmt.Errorf("install shell scripts: %w", err)
	}
	return s, nil
}

// openSecret reads the secret from which nonces are made, or makes one. It outlives spawnd, as shells do; when it
// is lost, the shells that live go on being believed as those without a nonce are.
func (s *Scripts) openSecret() error {
	path := filepath.Join(s.dir, secretFile)
	if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && st.Size() == secretBytes {
		kept, err := os.ReadFile(path)
		if err == nil && copy(s.secret[:], kept) == secretBytes {
			return nil
		}
	}
	if _, err := rand.Read(s.secret[:]); err != nil {
		return err
	}
	return replace(path, s.secret[:])
}

// Nonce is what the shell of that session puts into its marks; "" of the zero value. Each spawnd that finds the
// same secret knows it, and nobody else does. It must not be logged.
func (s Scripts) Nonce(session string) string {
	if s.dir == "" {
		return ""
	}
	mac := hmac.New(sha256.New, s.secret[:])
	mac.Write([]byte("spawn shell marks of " + session))
	return hex.EncodeToString(mac.Sum(nil)[:nonceBytes])
}

func makeFolder(path string) error {
	if err := os.Mkdir(path, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	st, err := os.Lstat(path)
	if err == nil && !st.IsDir() {
		err = fmt.Errorf("%s is not a folder", path)
	}
	return err
}

func replace(path string, text []byte) error {
	if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
			return nil
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(fileMode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Dress returns the words and the environment with which the shell of a session reads its script. Anything but a bash, zsh
// or fish without a word beside -l or -i starts as it is: what runs a command and ends shows no prompt.
func (s Scripts) Dress(session string, argv, env []string) (dressedArgv, dressedEnv []string) {
	if s.dir == "" || len(argv) == 0 || slices.ContainsFunc(argv[1:], func(word string) bool { return word != "-l" && word != "-i" }) {
		return argv, env
	}
	nonced := with(env, nonceName, s.Nonce(session))
	switch filepath.Base(argv[0]) {
	case "bash":
		env = with(nonced, "ENV", filepath.Join(s.dir, "bash.sh"))
		return slices.Insert(slices.Clone(argv), 1, "--posix"), env // long options come before others
	case "zsh":
		if users, ok := lookup(env, "ZDOTDIR"); ok {
			nonced = with(nonced, "SPAWN_ZDOTDIR", users)
		}
		return argv, with(nonced, "ZDOTDIR", filepath.Join(s.dir, "zsh"))
	case "fish":
		dir := filepath.Join(s.dir, "fish")
		dirs, ok := lookup(env, "XDG_DATA_DIRS")
		if !ok {
			dirs = dataDirsDefault
			nonced = with(nonced, "SPAWN_NO_DATA_DIRS", "1")
		}
		return argv, with(with(nonced, "SPAWN_FISH_DIR", dir), "XDG_DATA_DIRS", dir+":"+dirs)
	}
	return argv, env
}

// Renew returns the environment of a shell that was dressed for another session, for one that takes its place.
func (s Scripts) Renew(session string, env []string) []string {
	if !Dressed(env) {
		return env
	}
	return with(env, nonceName, s.Nonce(session))
}

// Dressed reports whether a shell that starts with the environment reads a script, and so will mark its prompts.
func Dressed(env []string) bool {
	_, dressed := lookup(env, nonceName)
	return dressed
}

// nonceName is how a script is told its nonce; the script takes it out of the environment.
const nonceName = "SPAWN_NONCE"

func lookup(env []string, name string) (string, bool) {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// with returns a sorted environment in which name has that value alone.
func with(env []string, name, value string) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	out = append(out, name+"="+value)
	slices.Sort(out)
	return out
}
