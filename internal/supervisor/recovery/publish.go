// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bufio"
	"context"
	"errors"
	"hash/maphash"
	"io"
	"io/fs"

	"spawn/internal/sessiond/vfs"
)

// writeChunk is how much is written between two looks at the context.
const writeChunk = 1 << 20

// Published is what became of a checkpoint that is durable.
type Published struct {
	ID         string
	Generation int64
	TextPanes  int   // panes whose text is in the file
	OmittedFor int   // panes whose text was left out so that the file fits
	Prune      error // why older files could not be removed; nil when they could. The checkpoint stands
}

// Publish writes c as a new generation:
//
//  1. a new id, and a generation above all that were ever used
//  2. .tmp-<uuid>, made exclusively with mode 0600, written, synced, measured, closed
//  3. renamed to c<uuid>.json, and the folder synced
//  4. older files removed by the policy, and the folder synced again
//
// Only behind step 3 does it return without an error, and from then on nothing takes the checkpoint back. Before
// the rename, the context or a failure discards what was staged, and older files are untouched. ErrUnknown: the
// file has its name, but a power loss may take it. An end of the context is returned as it is, since it says nothing of the
// store. ID, Generation, Socket and UID of c are filled in. Text that the present policy does not allow is left out.
func (s *Store) Publish(ctx context.Context, c Checkpoint) (Published, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.policy.Enabled {
		return Published{}, &Failure{Code: CodeDisabled, reason: "publish checkpoint: recovery is disabled"}
	}
	s.mu.stats.LastAttempt = s.now()
	done, err := s.publish(ctx, c)
	if calledOff(err) {
		return done, err
	}
	s.mu.stats.LastError = CodeOf(err)
	if err == nil {
		s.mu.stats.LastSuccess = s.now()
		done.Prune = s.tidy(s.mu.policy) // only one that was read back, and is valid, pushes out another
		s.mu.stats.LastPruneError = CodeOf(done.Prune)
	}
	return done, err
}

// calledOff tells an end of a context from a failure.
func calledOff(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func (s *Store) publish(ctx context.Context, c Checkpoint) (Published, error) {
	p := s.mu.policy
	generation, err := s.nextGeneration(p)
	if err != nil {
		return Published{}, err
	}
	uuid, err := newUUID4(s.random)
	if err != nil {
		return Published{}, ioFailure("publish checkpoint: no random id", err)
	}
	c.ID, c.Generation, c.Socket, c.UID = "c"+uuid, generation, s.id.Socket, int64(s.id.UID)
	if !p.KeepsText() {
		c = withoutText(c)
	}
	fitted, size, err := fit(c, p.MaxBytes)
	if err != nil {
		return Published{}, err
	}
	mark, err := s.put(ctx, uuid, fitted, size)
	if err != nil {
		return Published{}, err
	}
	entry := Entry{ID: c.ID, Bytes: int64(size)}
	entry.judge(fitted, traces{}, nil)
	s.recognise(entry, mark, p)
	return Published{ID: c.ID, Generation: generation, TextPanes: entry.TextPanes, OmittedFor: textPanes(c) - entry.TextPanes}, nil
}

// recognise reads a file back that was just written. If it is what was written it is as valid as what was encoded, and need not be
// decoded to find that out, which takes several times its size in memory. If it is not, the next scan says what it is.
func (s *Store) recognise(entry Entry, mark uint64, p Policy) {
	file, facts, err := s.open(entry.ID)
	if err != nil {
		return
	}
	back, err := markOf(file, facts.Size)
	if err = errors.Join(err, file.Close("checkpoint.close")); err != nil || back != mark {
		return
	}
	entry.facts = facts
	s.mu.examined[entry.ID] = remembered{facts, min(p.MaxBytes, FileBytesMax), entry}
}

// marks are of the bytes of files, for as long as this process lives: two files of other bytes have the same one once in 2^64. The
// digest that a file holds tells as much, at a multiple of the cost.
var marks = maphash.MakeSeed()

func markOf(file vfs.File, size int64) (mark uint64, err error) {
	var sum maphash.Hash
	sum.SetSeed(marks)
	chunk := make([]byte, min(writeChunk, max(1, size)))
	for {
		n, err := file.Read("checkpoint.read", chunk)
		sum.Write(chunk[:n])
		if err == io.EOF {
			return sum.Sum64(), nil
		}
		if err != nil {
			return mark, err
		}
	}
}

// nextGeneration is one more than the highest that is known to be used.
func (s *Store) nextGeneration(p Policy) (int64, error) {
	if _, err := s.scan(s.now(), p); err != nil {
		return 0, err
	}
	if s.mu.used >= safeInteger {
		return 0, ioFailure("publish checkpoint: generations are used up", nil)
	}
	return s.mu.used + 1, nil
}

// put makes the file of c durable under its name, and returns what it wrote in short.
func (s *Store) put(ctx context.Context, uuid string, c Checkpoint, size int) (mark uint64, err error) {
	temp, final := tempBegin+uuid, c.ID+finalEnd
	if mark, err = s.stage(ctx, temp, c, size); err != nil {
		return mark, s.discard(temp, err)
	}
	s.mu.used = c.Generation // from here on there may be a file that has it, however it reads back
	if err := s.dir.Rename("checkpoint.rename", temp, final); err != nil {
		// It may have happened all the same. Only a temporary file that could be removed says that it did not.
		if left := s.dir.Remove("temp.remove", temp); left != nil {
			return mark, unknownOutcome("publish checkpoint: whether it has its name is not known", errors.Join(err, left))
		}
		return mark, ioFailure("publish checkpoint: it could not be named; older ones are untouched", err)
	}
	if err := s.dir.Sync("checkpoint.syncdir"); err != nil {
		return mark, unknownOutcome("publish checkpoint: whether it is durable is not known", err)
	}
	return mark, nil
}

// discard removes a staged file as far as that is possible; the next start removes the rest. It returns the failure, or the end
// of the context as it is.
func (s *Store) discard(temp string, cause error) error {
	if err := s.dir.Remove("temp.remove", temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		cause = errors.Join(cause, err)
	}
	if calledOff(cause) {
		return cause
	}
	return ioFailure("publish checkpoint: it could not be written; older ones are untouched", cause)
}

// Probe tries whether the folder takes a file, which is gone again when it returns. ErrIO says that it does not.
func (s *Store) Probe() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	uuid, err := newUUID4(s.random)
	if err != nil {
		return ioFailure("probe recovery store: no random id", err)
	}
	file, err := s.dir.Create("temp.create", tempBegin+uuid)
	if err != nil {
		return ioFailure("probe recovery store: it takes no file", err)
	}
	if err := errors.Join(file.Close("temp.close"), s.dir.Remove("temp.remove", tempBegin+uuid)); err != nil {
		return ioFailure("probe recovery store: a file that was made cannot be removed", err)
	}
	return nil
}

// stage writes the temporary file and makes its content durable.
func (s *Store) stage(ctx context.Context, temp string, c Checkpoint, size int) (mark uint64, err error) {
	if err := ctx.Err(); err != nil {
		return mark, err
	}
	file, err := s.dir.Create("temp.create", temp)
	if err != nil {
		return mark, err
	}
	mark, err = fill(ctx, file, c, size)
	if err = errors.Join(err, file.Close("temp.close")); err != nil {
		return mark, err
	}
	return mark, ctx.Err() // the last moment at which it can be called off
}

func fill(ctx context.Context, file vfs.File, c Checkpoint, size int) (mark uint64, err error) {
	to := &staging{ctx: ctx, file: file}
	to.sum.SetSeed(marks)
	chunks := bufio.NewWriterSize(to, min(writeChunk, size))
	if err := c.encode(chunks, Format3); err != nil {
		return mark, err
	}
	if err := chunks.Flush(); err != nil {
		return mark, err
	}
	if err := file.Sync("temp.sync"); err != nil {
		return mark, err // never tried again on this handle: the second time it would claim success
	}
	facts, err := file.Facts("temp.measure") // finds what was cut short, whatever the writes claimed
	if err == nil && facts.Size != int64(size) {
		err = errors.New("file is shorter than what was written")
	}
	return to.sum.Sum64(), err
}

// staging is a temporary file that is being written, until ctx ends.
type staging struct {
	ctx  context.Context
	file vfs.File
	sum  maphash.Hash // of what the file took
}

// Write implements io.Writer.
func (s *staging) Write(p []byte) (written int, err error) {
	for len(p) > 0 && err == nil {
		if err := s.ctx.Err(); err != nil {
			return written, err
		}
		chunk := p[:min(len(p), writeChunk)]
		var n int
		if n, err = s.file.Write("temp.write", chunk); err == nil && n < len(chunk) {
			err = io.ErrShortWrite
		}
		s.sum.Write(p[:n])
		written += n
		p = p[n:]
	}
	return written, err
}

func textPanes(c Checkpoint) (n int) {
	for i := range c.Panes {
		if c.Panes[i].Text.Availability == TextPlain {
			n++
		}
	}
	return n
}

func withoutText(c Checkpoint) Checkpoint {
	panes := make([]Pane, len(c.Panes))
	copy(panes, c.Panes)
	for i := range panes {
		if panes[i].Text.Availability == TextPlain {
			panes[i].Text = Text{Availability: TextOmitted}
		}
	}
	c.Panes = panes
	return c
}
