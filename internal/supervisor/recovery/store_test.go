// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"spawn/internal/sessiond/vfs"
)

var noon = MillisOf(millisTime("2026-11-06T12:00:00.000Z"))

// world is a store's surroundings, with a clock that a test sets.
type world struct {
	files vfs.FS
	base  string
	now   Millis
	id    Identity
	rand  io.Reader
	first string // of prepare: the first checkpoint
}

func newWorld(files vfs.FS, base string) *world {
	return &world{files: files, base: base, now: noon, rand: rand.NewChaCha8([32]byte{1}),
		id: Identity{Socket: "/run/user/1000/spawn/spawnd.sock", UID: euid()}}
}

func (w *world) open() (*Store, error) {
	return Open(Options{Files: w.files, Base: w.base, Identity: w.id, Now: func() Millis { return w.now }, Random: w.rand})
}

// start opens a store and starts it.
func (w *world) start(t testing.TB, p Policy) *Store {
	t.Helper()
	s, err := w.open()
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	must(t, s.Start(p, true))
	return s
}

// on is a policy that keeps the given number of checkpoints, and text.
func on(count int) Policy {
	p := DefaultPolicy()
	p.Enabled, p.MaxCheckpoints, p.Text = true, count, TextModePlain
	return p
}

// body is what a capture gives: so many running panes in one window, with text in each if there is some.
func body(now Millis, panes int, text string) Checkpoint {
	c := Checkpoint{CapturedAt: now, Shutdown: ShutdownOpen, Sessions: []Session{{"s0", "work"}}, Windows: []Window{{"w0", "s0", "", 1, nil}}}
	for i := range panes {
		p := Pane{ID: fmt.Sprintf("p%d", i), Window: "w0", Session: "s0", Cols: 80, Rows: 1, State: StateRunning, Text: Text{Availability: TextOmitted},
			Layer: LayerFloat, Float: &Float{Z: int64(i) + 1}}
		if text != "" {
			p.Text = ClipText([]string{text}, list(), 10, 1<<20, now, now.Plus(3600))
		}
		c.Panes = append(c.Panes, p)
	}
	return c
}

// publish publishes and advances the clock by a second.
func (w *world) publish(t testing.TB, s *Store, panes int, text string) Published {
	t.Helper()
	done, err := s.Publish(context.Background(), body(w.now, panes, text))
	must(t, err, done.Prune)
	w.now += 1000
	return done
}

// shown is a listing in short: the status of each, and the generation.
func shown(t testing.TB, s *Store) string {
	t.Helper()
	entries, err := s.List()
	must(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, fmt.Sprintf("%d:%s", e.Generation, e.Status))
	}
	return strings.Join(out, " ")
}

func TestGenerationsRiseAndTheNewestAreKept(t *testing.T) {
	w := newWorld(vfs.NewCrash(), "")
	s := w.start(t, on(3))
	if got := shown(t, s); got != "" {
		t.Fatalf("an empty store lists %s", got)
	}
	var last Published
	for i := range 5 {
		last = w.publish(t, s, 1, "")
		if last.Generation != int64(i)+1 || !strings.HasPrefix(last.ID, "c") {
			t.Errorf("published %+v", last)
		}
	}
	if got := shown(t, s); got != "3:valid 4:valid 5:valid" {
		t.Errorf("kept %s", got)
	}
	again := w.start(t, on(3))
	if got := shown(t, again); got != "3:valid 4:valid 5:valid" {
		t.Errorf("after a restart %s", got)
	}
	if next := w.publish(t, again, 1, ""); next.Generation != 6 {
		t.Errorf("published %+v", next)
	}
	c, err := again.Read(last.ID)
	if err != nil || c.Generation != 5 || c.Socket != w.id.Socket || len(c.Panes) != 1 {
		t.Errorf("read %+v, %v", c, err)
	}
	stats := again.Stats()
	if stats.Valid != 3 || stats.LastAttempt == 0 || stats.LastSuccess < stats.LastAttempt || stats.LastError != "" || stats.Bytes == 0 {
		t.Errorf("stats %+v", stats)
	}
}

func TestGenerationsAreUsedUp(t *testing.T) {
	w := newWorld(vfs.NewCrash(), "")
	s := w.start(t, on(3))
	c := body(w.now, 1, "")
	c.ID, c.Generation, c.Socket, c.UID = "c"+"01234567-89ab-4cde-8fab-0123456789ab", safeInteger, w.id.Socket, int64(w.id.UID)
	file, err := Encode(c, FileBytesMax)
	must(t, err)
	plantFile(t, s, c.ID+finalEnd, file)
	if _, err := s.Publish(context.Background(), body(w.now, 1, "")); !errors.Is(err, ErrIO) {
		t.Errorf("published beyond the last generation: %v", err)
	}
	if got := shown(t, s); got != fmt.Sprintf("%d:valid", safeInteger) {
		t.Errorf("store holds %s", got)
	}
}

// plantFile puts bytes into the store's folder behind its back.
func plantFile(t testing.TB, s *Store, name string, content []byte) {
	t.Helper()
	f, err := s.dir.Create("test.create", name)
	must(t, err)
	_, err = f.Write("test.write", content)
	must(t, err, f.Sync("test.sync"), f.Close("test.close"), s.dir.Sync("test.syncdir"))
}

func TestDisabledWritesNothingAndDeletesNoTopology(t *testing.T) {
	w := newWorld(vfs.NewCrash(), "")
	s := w.start(t, on(3))
	id := w.publish(t, s, 1, "").ID
	w.publish(t, s, 2, "")
	off := DefaultPolicy()
	off.MaxCheckpoints = 1
	must(t, s.SetPolicy(off))
	if _, err := s.Publish(context.Background(), body(w.now, 1, "")); !errors.Is(err, ErrDisabled) {
		t.Errorf("published: %v", err)
	}
	if got := shown(t, s); got != "1:valid 2:valid" {
		t.Errorf("store holds %s", got)
	}
	must(t, s.Forget(id))
	w.now = w.now.Plus(off.MaxAge)
	if got := shown(t, s); got != "2:expired" {
		t.Errorf("store holds %s", got)
	}
}

// T76: the clock decides what may be used, and going backwards makes nothing younger.
func TestClockJumps(t *testing.T) {
	const hour, day = 3600, 24 * 3600
	for _, test := range []struct {
		name    string
		now     Millis
		listed  string
		readErr error
		text    string
	}{
		{"none", noon, "1:valid", nil, TextPlain},
		{"a millisecond back", noon - 1, "1:future", ErrExpired, ""},
		{"an hour back", noon.Plus(-hour), "1:future", ErrExpired, ""},
		{"a day back", noon.Plus(-day), "1:future", ErrExpired, ""},
		{"to 1970", 1, "1:future", ErrExpired, ""},
		{"just before the text expires", noon.Plus(hour) - 1, "1:valid", nil, TextPlain},
		{"an hour ahead", noon.Plus(hour), "1:valid", nil, TextExpired},
		{"just before it expires", noon.Plus(7*day) - 1, "1:valid", nil, TextExpired},
		{"a week ahead", noon.Plus(7 * day), "", ErrExpired, ""},
		{"to 2100", MillisOf(millisTime("2100-01-01T00:00:00Z")), "", ErrExpired, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(vfs.NewCrash(), "")
			s := w.start(t, on(3))
			id := w.publish(t, s, 1, "hello").ID
			w.now = test.now
			c, err := s.Read(id)
			if !errors.Is(err, test.readErr) || err == nil && c.Panes[0].Text.Availability != test.text {
				t.Errorf("read %+v, %v", c, err)
			}
			if got := shown(t, s); got != test.listed {
				t.Errorf("listed %q", got)
			}
		})
	}
}

// An era is a store whose clock jumps, and what must be true of it at any time.
type era struct {
	*world
	s     *Store
	given int64 // highest generation so far
}

func (e *era) publish(t *testing.T, times int) {
	t.Helper()
	for range times {
		done, err := e.s.Publish(context.Background(), body(e.now, 1, "hello"))
		if must(t, err, done.Prune); done.Generation <= e.given {
			t.Errorf("generation %d was given out again", done.Generation)
		}
		e.given = done.Generation
	}
}

// check looks at all there is by the clock of now.
func (e *era) check(t *testing.T, when string) {
	t.Helper()
	entries, err := e.s.List()
	must(t, err)
	p, valid := e.s.mu.policy, 0
	for _, at := range entries {
		want := StatusValid
		switch {
		case at.CapturedAt > e.now:
			want = StatusFuture
		case e.now-at.CapturedAt >= defaultAge*1000:
			want = StatusExpired
		default:
			valid++
		}
		c, err := e.s.Read(at.ID)
		if at.Status != want || want == StatusExpired || (err == nil) != (want == StatusValid) || want == StatusFuture && !errors.Is(err, ErrExpired) {
			t.Errorf("%s: generation %d, of %v, is %s: %v", when, at.Generation, at.CapturedAt.Time(), at.Status, err)
		}
		if err == nil && (c.Panes[0].Text.Availability == TextPlain) != (e.now >= c.CapturedAt && e.now < c.CapturedAt.Plus(3600)) {
			t.Errorf("%s: text of %v is %s", when, c.CapturedAt.Time(), c.Panes[0].Text.Availability)
		}
	}
	if valid > p.MaxCheckpoints {
		t.Errorf("%s: %d are valid", when, valid)
	}
}

// T76: the clock jumps before each thing that can be done, goes back behind it, and catches up. Nothing is valid that is of the
// future or too old, no text lives longer, as many are kept as may be, and no generation is given out again.
func TestTheClockJumpsBeforeEachStep(t *testing.T) {
	const hour, day = 3600, 24 * 3600
	later := noon.Plus(10)
	for jump, to := range map[string]Millis{
		"an hour back": noon.Plus(-hour), "an hour ahead": later.Plus(hour), "a day back": noon.Plus(-day), "a day ahead": later.Plus(day),
		"eight days ahead": later.Plus(8 * day), "to 1970": 1, "to 2100": MillisOf(millisTime("2100-01-01T00:00:00Z")),
	} {
		for step, do := range map[string]func(*testing.T, *era){
			"nothing":       func(*testing.T, *era) {},
			"a start":       func(t *testing.T, e *era) { e.s = e.start(t, on(3)) },
			"a publication": func(t *testing.T, e *era) { e.publish(t, 1) },
			"publications":  func(t *testing.T, e *era) { e.publish(t, 5) },
			"fewer":         func(t *testing.T, e *era) { must(t, e.s.SetPolicy(on(2))) },
			"switched off":  func(t *testing.T, e *era) { must(t, e.s.SetPolicy(withoutTexts(3)), e.s.SetPolicy(on(3))) },
			"a start, fresh": func(t *testing.T, e *era) {
				s, err := e.open()
				must(t, err, s.Start(on(3), false))
				e.s = s
			},
		} {
			t.Run(step+", "+jump, func(t *testing.T) {
				e := &era{world: newWorld(vfs.NewCrash(), "")}
				e.s = e.start(t, on(3))
				e.publish(t, 2)
				e.now = to
				do(t, e)
				e.check(t, "then")
				e.now = later
				e.check(t, "back again")
				e.publish(t, 5)
				e.check(t, "with more")
				e.now = max(to, later.Plus(1))
				e.check(t, "caught up")
				e.publish(t, 1)
				e.check(t, "at last")
			})
		}
	}
}

func TestReadNamesWhatIsWrong(t *testing.T) {
	w := newWorld(vfs.NewCrash(), "")
	s := w.start(t, on(9))
	good := w.publish(t, s, 1, "")
	newID := func(n int) string { return fmt.Sprintf("c%08x-89ab-4cde-8fab-0123456789ab", n) }
	write := func(id string, change func(*Checkpoint)) []byte {
		c := body(noon, 1, "")
		c.ID, c.Generation, c.Socket, c.UID = id, 9, w.id.Socket, int64(w.id.UID)
		change(&c)
		file, err := Encode(c, FileBytesMax)
		must(t, err)
		return file
	}
	for i, test := range []struct {
		name string
		file []byte
		want error
	}{
		{"empty", nil, ErrCorrupt},
		{"of a later format", []byte(`{"format":4}`), ErrFormat},
		{"too long", make([]byte, DefaultPolicy().MaxBytes+1), ErrSize},
		{"of another socket", write(newID(3), func(c *Checkpoint) { c.Socket = "/tmp/other.sock" }), ErrCorrupt},
		{"of another user", write(newID(4), func(c *Checkpoint) { c.UID++ }), ErrCorrupt},
		{"of another name", write(newID(99), func(*Checkpoint) {}), ErrCorrupt},
	} {
		id := newID(i)
		plantFile(t, s, id+finalEnd, test.file)
		if _, err := s.Read(id); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	for name, want := range map[string]error{newID(77): ErrNotFound, "": ErrID, "../x": ErrID, good.ID + finalEnd: ErrID, strings.ToUpper(good.ID): ErrID} {
		if _, err := s.Read(name); !errors.Is(err, want) {
			t.Errorf("read %q: %v", name, err)
		}
		if err := s.Forget(name); !errors.Is(err, want) {
			t.Errorf("forget %q: %v", name, err)
		}
	}
	if got, want := shown(t, s), "1:valid 0:corrupt 0:incompatible 0:incompatible 0:corrupt 0:corrupt 0:corrupt"; got != want {
		t.Errorf("listed %s, want %s", got, want)
	}
	// The newer damaged ones change nothing for the good one, and go only when they are named.
	if _, err := s.Read(good.ID); err != nil {
		t.Error(err)
	}
	for i := range 6 {
		must(t, s.Forget(newID(i)))
	}
	if got := shown(t, s); got != "1:valid" {
		t.Errorf("listed %s", got)
	}
}

func TestTwinsOfAGenerationAreRefused(t *testing.T) {
	w := newWorld(vfs.NewCrash(), "")
	s := w.start(t, on(1))
	old := w.publish(t, s, 1, "")
	for _, id := range []string{"c00000001-89ab-4cde-8fab-0123456789ab", "c00000002-89ab-4cde-8fab-0123456789ab"} {
		c := body(noon, 1, "")
		c.ID, c.Generation, c.Socket, c.UID = id, 7, w.id.Socket, int64(w.id.UID)
		file, err := Encode(c, FileBytesMax)
		must(t, err)
		plantFile(t, s, id+finalEnd, file)
	}
	if got := shown(t, s); got != "1:valid 7:corrupt 7:corrupt" {
		t.Errorf("listed %s", got)
	}
	if _, err := s.Read("c00000002-89ab-4cde-8fab-0123456789ab"); !errors.Is(err, ErrCorrupt) {
		t.Errorf("read one of two: %v", err)
	}
	if _, err := s.Read(old.ID); err != nil {
		t.Errorf("read the older: %v", err)
	}
	if next := w.publish(t, s, 1, ""); next.Generation != 8 {
		t.Errorf("published %+v", next)
	}
	must(t, s.Forget("c00000001-89ab-4cde-8fab-0123456789ab"))
	if got := shown(t, s); got != "8:valid" { // the other is no twin any more, and one too many
		t.Errorf("listed %s", got)
	}
}

func TestTurningTextOffDeletesIt(t *testing.T) {
	w := newWorld(vfs.NewCrash(), "")
	s := w.start(t, on(9))
	w.publish(t, s, 1, "")
	w.publish(t, s, 2, "secret")
	w.publish(t, s, 1, "")
	damaged := wrap(t, `{"text":{"availability":"plain","screen":["secret"]}}`, Format3)
	plantFile(t, s, "c00000001-89ab-4cde-8fab-0123456789ab"+finalEnd, damaged)
	plantFile(t, s, "c00000002-89ab-4cde-8fab-0123456789ab"+finalEnd, []byte("damaged"))
	plantFile(t, s, tempBegin+"00000003-89ab-4cde-8fab-0123456789ab", []byte("secret"))
	p := on(9)
	p.Text = TextModeOff
	must(t, s.SetPolicy(p))
	if got := shown(t, s); got != "1:valid 3:valid 0:corrupt" {
		t.Errorf("left %s", got)
	}
	if text := everything(t, w.files); strings.Contains(text, "secret") {
		t.Errorf("the folder still holds %s", text)
	}
	done := w.publish(t, s, 1, "secret") // captured when it was still allowed
	if done.TextPanes != 0 || strings.Contains(everything(t, w.files), "secret") {
		t.Errorf("published text: %+v", done)
	}
}

// everything is the names and contents of the store's folder.
func everything(t testing.TB, files vfs.FS) string {
	t.Helper()
	w := newWorld(files, "")
	dir, err := files.OpenAnchor("test.anchor", "")
	must(t, err)
	for _, name := range []string{"spawn", "recovery", w.id.Key()} {
		inner, err := dir.OpenDir("test.open", name)
		if err != nil {
			return ""
		}
		dir = inner
	}
	names, err := dir.Names("test.names")
	must(t, err)
	slices.Sort(names)
	var out strings.Builder
	for _, name := range names {
		f, err := dir.Open("test.open", name)
		must(t, err)
		facts, err := f.Facts("test.facts")
		must(t, err)
		raw, err := readAll(f, facts.Size)
		must(t, err)
		fmt.Fprintf(&out, "%s %s\n", name, raw)
	}
	return out.String()
}

func TestPublishLeavesOutWhatDoesNotFit(t *testing.T) {
	w := newWorld(vfs.NewCrash(), "")
	p := on(3)
	p.MaxBytes = policyFileBytesMin
	s := w.start(t, p)
	done := w.publish(t, s, 3, strings.Repeat("x", 30_000))
	if done.TextPanes != 2 || done.OmittedFor != 1 {
		t.Errorf("published %+v", done)
	}
	c, err := s.Read(done.ID)
	must(t, err)
	if c.Panes[0].Text.Availability != TextPlain || c.Panes[2].Text.Availability != TextOmitted {
		t.Errorf("left out the wrong one")
	}
	before := everything(t, w.files)
	if _, err := s.Publish(context.Background(), body(w.now, 600, "")); !errors.Is(err, ErrSize) {
		t.Errorf("topology that is too large: %v", err)
	}
	if everything(t, w.files) != before {
		t.Error("a checkpoint that does not fit changed the store")
	}
}

func TestACancelledPublicationLeavesNothing(t *testing.T) {
	w := newWorld(vfs.NewCrash(), "")
	s := w.start(t, on(3))
	w.publish(t, s, 1, "")
	before := everything(t, w.files)
	for name, end := range map[string]struct {
		want error
		when vfs.Op // the write behind which it is called off; "" before anything is done
	}{
		"nobody waits":             {context.Canceled, ""},
		"no time":                  {context.DeadlineExceeded, ""},
		"nobody waits any more":    {context.Canceled, "temp.write"},
		"no time is left any more": {context.DeadlineExceeded, "temp.write"},
	} {
		ctx := &ending{Context: context.Background()}
		if end.when == "" {
			ctx.err = end.want
		}
		s.dir = tapped(t, w, func(op vfs.Op) {
			if op == end.when {
				ctx.err = end.want
			}
		})
		_, err := s.Publish(ctx, body(w.now, 2, ""))
		if _, failed := errors.AsType[*Failure](err); failed || !errors.Is(err, end.want) {
			t.Errorf("%s: error %v", name, err)
		}
		if everything(t, w.files) != before {
			t.Errorf("%s: it left something", name)
		}
		if stats := s.Stats(); stats.LastError != "" || stats.LastAttempt != w.now {
			t.Errorf("%s: stats %+v", name, stats)
		}
	}
	if done := w.publish(t, s, 2, ""); done.Generation != 2 {
		t.Errorf("published %+v", done)
	}
}

// ending is a context that ends when a test says so.
type ending struct {
	context.Context
	err error // nil while it has not ended
}

func (e *ending) Err() error { return e.err }

// tapped is the store's folder, opened so that tap is told of each write.
func tapped(t *testing.T, w *world, tap func(vfs.Op)) vfs.Dir {
	t.Helper()
	again := *w
	again.files = &vfs.Faulty{FS: w.files, Tap: func(op vfs.Op, _ string, _ []byte) { tap(op) }}
	s, err := again.open()
	must(t, err)
	return s.dir
}

// Twice the promise of the host's shutdown: what was good stays, and is what a person is led to.
func TestRemnantsDoNotCrowdOutAGoodCheckpoint(t *testing.T) {
	w := newWorld(vfs.NewCrash(), "")
	s := w.start(t, on(3))
	good := w.publish(t, s, 34, "")
	for range 5 {
		w.publish(t, s, 2, "") // the daemon saw its terminals die
	}
	if got := shown(t, s); got != "1:valid 5:valid 6:valid" {
		t.Errorf("kept %s", got)
	}
	after, err := w.open() // the host is back, and a person opens a terminal first
	must(t, err)
	must(t, after.Start(on(3), false))
	w.now = w.now.Plus(12 * 3600)
	for range 5 {
		w.publish(t, after, 1, "")
	}
	if got := shown(t, after); got != "1:valid 10:valid 11:valid" {
		t.Errorf("kept %s", got)
	}
	after.Restored(good.ID)
	w.publish(t, after, 1, "")
	if got := shown(t, after); got != "10:valid 11:valid 12:valid" {
		t.Errorf("after it was restored: %s", got)
	}
}

// With room for one checkpoint that is the newest, whatever it is.
func TestWithRoomForOneTheNewestIsKept(t *testing.T) {
	w := newWorld(vfs.NewCrash(), "")
	s := w.start(t, on(1))
	w.publish(t, s, 34, "")
	w.publish(t, s, 2, "")
	if got := shown(t, s); got != "2:valid" {
		t.Errorf("kept %s", got)
	}
}

func TestLeading(t *testing.T) {
	entry := func(gen int64, minute int64, panes, running int, shutdown string) Entry {
		return Entry{ID: fmt.Sprint(gen), Status: StatusValid, Generation: gen, CapturedAt: noon.Plus(60 * minute), Panes: panes, Running: running, Shutdown: shutdown}
	}
	texts := func(e Entry, n int) Entry { e.TextPanes = n; return e }
	const o, c = ShutdownOpen, ShutdownClean
	for name, test := range map[string]struct {
		entries []Entry
		want    string
	}{
		"none":                               {nil, ""},
		"the newest":                         {[]Entry{entry(1, 0, 5, 5, o), entry(2, 1, 5, 5, o)}, "2"},
		"grown":                              {[]Entry{entry(1, 0, 5, 5, o), entry(2, 1, 6, 6, o)}, "2"},
		"half":                               {[]Entry{entry(1, 0, 6, 6, o), entry(2, 1, 3, 3, o)}, "2"},
		"less than half":                     {[]Entry{entry(1, 0, 7, 7, o), entry(2, 1, 3, 3, o)}, "1"},
		"empty":                              {[]Entry{entry(1, 0, 1, 1, o), entry(2, 1, 0, 0, o)}, "1"},
		"all dead":                           {[]Entry{entry(1, 0, 5, 5, o), entry(2, 1, 5, 0, o)}, "1"},
		"clean":                              {[]Entry{entry(1, 0, 5, 5, o), entry(2, 1, 5, 0, c)}, "2"},
		"clean and small":                    {[]Entry{entry(1, 0, 5, 5, o), entry(2, 1, 1, 0, c)}, "1"},
		"most texts gone":                    {[]Entry{texts(entry(1, 0, 5, 5, o), 5), texts(entry(2, 1, 5, 5, o), 2)}, "1"},
		"most texts there":                   {[]Entry{texts(entry(1, 0, 5, 5, o), 4), texts(entry(2, 1, 5, 5, o), 2)}, "2"},
		"clean and without text":             {[]Entry{texts(entry(1, 0, 5, 5, o), 1), entry(2, 1, 5, 0, c)}, "1"},
		"small, but a while later":           {[]Entry{entry(1, 0, 5, 5, o), entry(2, 11, 1, 1, o)}, "2"},
		"step by step":                       {[]Entry{entry(1, 0, 40, 40, o), entry(2, 1, 40, 15, o), entry(3, 2, 40, 5, o), entry(4, 3, 0, 0, o)}, "1"},
		"the good one has expired":           {[]Entry{{ID: "1", Status: StatusExpired, Panes: 9}, entry(2, 1, 1, 1, o)}, "2"},
		"behind what cannot be used":         {[]Entry{entry(1, 0, 5, 5, o), {ID: "x", Status: StatusCorrupt}}, "1"},
		"two remnants, then the good before": {[]Entry{entry(1, 0, 9, 9, o), entry(2, 5, 0, 0, o), entry(3, 9, 0, 0, o)}, "1"},
	} {
		if got := Leading(test.entries); got != test.want {
			t.Errorf("%s: led to %q, want %q", name, got, test.want)
		}
	}
}

func TestIdentityNamesTheStore(t *testing.T) {
	for _, test := range []struct{ xdg, home, socket, base string }{
		{"/state", "/home/a", "/spawnd.sock", "/state"},
		{"", "/home/a", "/spawnd.sock", "/home/a/.local/state"},
		{"state", "/home/a", "/spawnd.sock", ""},
		{"", "", "/spawnd.sock", ""},
		{"", "/home/a", "spawnd.sock", ""},
		{"", "/home/a", "/no/such/folder/spawnd.sock", ""},
	} {
		base, id, err := Locate(test.xdg, test.home, test.socket, 1)
		if (err == nil) != (test.base != "") || base != test.base && err == nil {
			t.Errorf("%+v: %q, %v", test, base, err)
		}
		if err == nil && id.Key() != "93d182b6b48d9f86f8248c7e03d94e2b5ba17bf1aaf41ec975fb59eccba303d0" { // printf /spawnd.sock | sha256sum
			t.Errorf("key %s", id.Key())
		}
	}
}
