// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/fleet"
)

const (
	canaryPrefix = "canary-"
	// canaryDigitsMax is what os.MkdirTemp adds at most, a number of 32 bits.
	canaryDigitsMax = 10
	// canaryOld is the age at which a canary's folder was left by a doctor that was killed: its terminal
	// has ended by itself long before.
	canaryOld = 5 * time.Minute
	// canaryTidy bounds the end of a canary, TERM and KILL included.
	canaryTidy = 5 * time.Second
	// canaryHeardMax bounds what is kept of its output, in bytes.
	canaryHeardMax = 16 << 10
)

// song is what the canary runs. What it says differs from what it hears, so that an echo is no answer. It
// ends by itself: a doctor that is killed leaves nothing that stays.
const song = `(sleep 60; kill -KILL $$) & echo ready; IFS= read -r word && echo "heard $word"; IFS= read -r end`

// Nest is where canaries live: a Canary by real workers.
type Nest struct {
	Folder     string // private to the user; each canary gets a worker folder of its own in it
	WorkerPath string // of spawn-worker
	Scoper     fleet.Scoper
}

// Survive launches a terminal, drops the connection to it as a killed supervisor does, adopts it by another
// fleet, types a word, waits for the answer, and ends it. The user's terminals are in another folder.
func (n Nest) Survive(ctx context.Context) error { return n.hatch(ctx, n.sing) }

// Capabilities asks a worker that is started for it.
func (n Nest) Capabilities(ctx context.Context) ([]string, error) {
	var listed []string
	err := n.hatch(ctx, func(ctx context.Context, first *fleet.Fleet, _ *endpoint.Folder, id endpoint.SessionID) error {
		h, err := launch(ctx, first, id)
		if err != nil {
			return err
		}
		defer h.Close()
		listed = h.Hello().Capabilities
		return nil
	})
	return listed, err
}

// story is what becomes of one canary, up to its end.
type story func(ctx context.Context, first *fleet.Fleet, folder *endpoint.Folder, id endpoint.SessionID) error

// hatch makes a worker folder, lets the story happen in it, and ends and removes whatever is left then.
func (n Nest) hatch(ctx context.Context, happen story) error {
	// A folder that is there stays as it is, for the checks of folders to judge.
	if _, err := os.Lstat(n.Folder); errors.Is(err, fs.ErrNotExist) {
		if err := config.CreatePrivate(n.Folder); err != nil {
			return fmt.Errorf("make a folder for it: %w", err)
		}
	}
	n.tidyOld()
	path, err := n.nest()
	if err != nil {
		return err
	}
	folder, err := endpoint.OpenFolder(path)
	if err != nil {
		return errors.Join(fmt.Errorf("open its folder: %w", err), os.Remove(path))
	}
	defer folder.Close()
	id := endpoint.NewSessionID()
	first := n.fleet(folder)
	err = happen(ctx, first, folder, id)

	tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), canaryTidy)
	defer cancel()
	if endErr := end(tidy, n.fleet(folder), first, id); endErr != nil {
		return errors.Join(err, fmt.Errorf("end it: %w", endErr))
	}
	if removeErr := os.Remove(path); removeErr != nil {
		err = errors.Join(err, fmt.Errorf("clear up: %w", removeErr))
	}
	return err
}

// nest makes the canary's worker folder: among ours or, where that path would be too long for sockets in
// it, among temporary files, private all the same: what a doctor that is killed leaves there goes with them.
func (n Nest) nest() (string, error) {
	above := n.Folder
	if len(above)+len("/")+len(canaryPrefix)+canaryDigitsMax > endpoint.FolderPathMax {
		above = os.TempDir()
	}
	path, err := os.MkdirTemp(above, canaryPrefix)
	if err != nil {
		return "", fmt.Errorf("make its folder: %w", err)
	}
	return path, nil
}

func (n Nest) fleet(folder *endpoint.Folder) *fleet.Fleet {
	return fleet.New(fleet.Options{Folder: folder, WorkerPath: n.WorkerPath, Scoper: n.Scoper})
}

func (n Nest) sing(ctx context.Context, first *fleet.Fleet, folder *endpoint.Folder, id endpoint.SessionID) error {
	h, err := launch(ctx, first, id)
	if err != nil {
		return err
	}
	err = hear(ctx, h, "ready")
	instance := h.Hello().InstanceID
	h.Close()
	if err != nil {
		return fmt.Errorf("hear it start: %w", err)
	}

	again, err := n.fleet(folder).Adopt(ctx, id)
	if err != nil {
		return fmt.Errorf("adopt: %w", err)
	}
	defer again.Close()
	if again.Hello().InstanceID != instance {
		return errors.New("adopt: it is another process")
	}
	word := rand.Text()
	if err := again.Input([]byte(word + "\n")); err != nil {
		return fmt.Errorf("type: %w", err)
	}
	if err := hear(ctx, again, "heard "+word); err != nil {
		return fmt.Errorf("hear the answer: %w", err)
	}
	return nil
}

func launch(ctx context.Context, first *fleet.Fleet, id endpoint.SessionID) (*fleet.Handle, error) {
	h, err := first.Launch(ctx, id, fleet.Spec{
		Argv: []string{"/bin/sh", "-c", song}, Cwd: "/", Env: []string{"PATH=/usr/bin:/bin", "TERM=dumb"}, Cols: 80, Rows: 24,
	})
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	return h, nil
}

// hear receives until the output holds the text or the context ends, which closes the handle.
func hear(ctx context.Context, h *fleet.Handle, text string) error {
	stop := context.AfterFunc(ctx, h.Close)
	defer stop()
	var heard bytes.Buffer
	for {
		k, payload, err := h.Recv()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case k == wire.KindExit:
			return errors.New("it has ended")
		case k != wire.KindOutput:
			continue
		}
		heard.Write(payload)
		if bytes.Contains(heard.Bytes(), []byte(text)) {
			return nil
		}
		if heard.Len() > canaryHeardMax {
			return errors.New("it says something else")
		}
	}
}

// end ends the canary, whatever became of it, and reaps it: the first fleet is its parent.
func end(ctx context.Context, keeper, parent *fleet.Fleet, id endpoint.SessionID) error {
	h, err := keeper.Adopt(ctx, id)
	if refusal := (*fleet.Refusal)(nil); errors.As(err, &refusal) {
		switch refusal.Code {
		case fleet.CodeEnded:
			return parent.AwaitChildren(ctx)
		case fleet.CodeUnstarted: // it had not read its START yet, and was told to end
			if err := parent.AwaitChildren(ctx); err != nil {
				return err
			}
			return end(ctx, keeper, parent, id) // which removes what it left
		}
	}
	if err != nil {
		return err
	}
	drained := make(chan struct{})
	go func() { // EXIT is the quickest news of the end
		defer close(drained)
		for err := error(nil); err == nil; {
			_, _, err = h.Recv()
		}
	}()
	err = h.Terminate(ctx)
	h.Close()
	<-drained
	return errors.Join(err, parent.AwaitChildren(ctx))
}

// tidyOld removes what killed doctors left. What is still held, or could be another doctor's, stays.
func (n Nest) tidyOld() {
	entries, err := os.ReadDir(n.Folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		if st, err := e.Info(); err == nil && e.IsDir() && strings.HasPrefix(e.Name(), canaryPrefix) && time.Since(st.ModTime()) > canaryOld {
			tidy(filepath.Join(n.Folder, e.Name()))
		}
	}
}

// tidy removes one folder, if all in it has ended.
func tidy(path string) {
	folder, err := endpoint.OpenFolder(path)
	if err != nil {
		return
	}
	defer folder.Close()
	ids, err := folder.Scan()
	for _, id := range ids {
		err = errors.Join(err, folder.Sweep(id))
	}
	if err == nil {
		_ = os.Remove(path) // what is left in it is not ours to judge
	}
}
