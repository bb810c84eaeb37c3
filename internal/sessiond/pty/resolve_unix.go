// SPDX-License-Identifier: Apache-2.0

//go:build unix

package pty

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// resolve checks o and returns the file to execute. It looks only at o.Env, because our own environment is the
// supervisor's, not the user's.
func resolve(o Options) (string, error) {
	if err := check(o); err != nil {
		return "", err
	}
	name := strings.TrimPrefix(o.Argv[0], "-")
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			return "", fmt.Errorf("%w: program path is relative", ErrArgs)
		}
		return name, executable(name)
	}
	if shell := lookup(o.Env, "SHELL"); filepath.IsAbs(shell) && filepath.Base(shell) == name && executable(shell) == nil {
		return shell, nil
	}
	for _, dir := range filepath.SplitList(lookup(o.Env, "PATH")) {
		path := filepath.Join(dir, name)
		if filepath.IsAbs(path) && executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("find program along PATH: %w", syscall.ENOENT)
}

// check refuses what the kernel would misread or refuse with a less telling error.
func check(o Options) error {
	if len(o.Argv) == 0 || strings.TrimPrefix(o.Argv[0], "-") == "" {
		return fmt.Errorf("%w: no program", ErrArgs)
	}
	if o.Cols == 0 || o.Rows == 0 {
		return fmt.Errorf("%w: size %dx%d", ErrArgs, o.Cols, o.Rows)
	}
	for _, list := range [][]string{o.Argv, o.Env, {o.Cwd}} {
		for _, s := range list {
			if strings.ContainsRune(s, 0) {
				return fmt.Errorf("%w: NUL byte", ErrArgs)
			}
		}
	}
	if !filepath.IsAbs(folder(o)) {
		return fmt.Errorf("%w: working folder is relative", ErrArgs)
	}
	if st, err := os.Stat(folder(o)); err != nil || !st.IsDir() {
		return fmt.Errorf("enter working folder: %w", syscall.ENOTDIR)
	}
	return nil
}

// folder is the working folder of the program: without Cwd the home folder, without a usable one "/".
func folder(o Options) string {
	if o.Cwd != "" {
		return o.Cwd
	}
	home := lookup(o.Env, "HOME")
	if st, err := os.Stat(home); err != nil || !filepath.IsAbs(home) || !st.IsDir() {
		return "/"
	}
	return home
}

// executable reports why path cannot be executed by us.
func executable(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("find program: %w", unwrapPath(err))
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("find program: %w", syscall.EACCES)
	}
	if err := unix.Access(path, unix.X_OK); err != nil {
		return fmt.Errorf("find program: %w", err)
	}
	return nil
}

// unwrapPath drops the path from an error: arguments stay out of messages.
func unwrapPath(err error) error {
	if pe, ok := err.(*os.PathError); ok {
		return pe.Err
	}
	return err
}

// lookup is the last value of name in env, as execve'd programs see it, or "".
func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}
