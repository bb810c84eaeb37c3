// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"spawn/internal/unmet"
)

// oracleChunk is bytes to feed, or a size to change to.
type oracleChunk struct {
	feed   []byte
	resize *[2]int
}

func (c oracleChunk) MarshalJSON() ([]byte, error) {
	if c.resize != nil {
		return json.Marshal(map[string]any{"resize": c.resize})
	}
	return json.Marshal(c.feed)
}

type oracleRequest struct {
	ID     int           `json:"id"`
	Cols   int           `json:"cols"`
	Rows   int           `json:"rows"`
	Chunks []oracleChunk `json:"chunks"`
}

// oracleScreen is what a stream leads to, in xterm.js or in a Terminal.
type oracleScreen struct {
	ID      int                `json:"id"`
	Error   string             `json:"error"`
	Rows    [][]string         `json:"rows"`
	Wrapped []bool             `json:"wrapped"`
	Cursor  struct{ X, Y int } `json:"cursor"`
	State   oracleState        `json:"state"`
	Replies string             `json:"replies"`
	Title   string             `json:"title"`
	Cols    int                `json:"cols"`
	Lines   int                `json:"lines"`
}

type oracleState struct {
	Alternate   bool
	Top, Bottom int
	Tabs        []int
	Saved       oracleSaved
	SavedOther  oracleSaved
	Pen         string
	Modes       []bool
	Mouse       string
	Encoding    string
	CursorStyle string
	Charsets    []string
	Level       int
	Mapping     string
	Last        int
	Parser      int
}

type oracleSaved struct {
	X, Y, Fg, Bg, Attributes int
	Underlined, Extended     bool
	Mapping                  string
}

// mustHave skips a test that lacks something.
func mustHave(t *testing.T, err error, what string) {
	t.Helper()
	if err != nil {
		unmet.Skip(t, "%s is absent: %v", what, err)
	}
}

func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// askOracle runs all requests through xterm.js.
func askOracle(t *testing.T, requests []oracleRequest) []oracleScreen {
	t.Helper()
	root := repository(t)
	modules := os.Getenv("SPAWN_NODE_MODULES")
	if modules == "" {
		modules = filepath.Join(root, "web", "node_modules")
	}
	_, err := os.Stat(filepath.Join(modules, "@xterm", "headless", "package.json"))
	mustHave(t, err, "@xterm/headless (npm ci in web/)")
	node, err := exec.LookPath("node")
	mustHave(t, err, "node")

	cmd := exec.CommandContext(t.Context(), node, filepath.Join(root, "tools", "oracle", "oracle.mjs"))
	cmd.Env = append(os.Environ(), "SPAWN_NODE_MODULES="+modules)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() {
		e := json.NewEncoder(in)
		for i, r := range requests {
			r.ID = i
			if err := e.Encode(r); err != nil {
				sent <- err
				return
			}
		}
		sent <- in.Close()
	}()
	screens := readScreens(t, out, len(requests))
	if err := <-sent; err != nil {
		t.Fatalf("send to the oracle: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("run the oracle: %v", err)
	}
	return screens
}

func readScreens(t *testing.T, r io.Reader, n int) []oracleScreen {
	t.Helper()
	d := json.NewDecoder(bufio.NewReader(r))
	screens := make([]oracleScreen, n)
	for i := range screens {
		if err := d.Decode(&screens[i]); err != nil {
			t.Fatalf("read screen %d of the oracle: %v", i, err)
		}
		if screens[i].ID != i {
			t.Fatalf("the oracle answered %d, want %d", screens[i].ID, i)
		}
	}
	return screens
}

// recorder is a sink that keeps everything.
type recorder struct {
	history bytes.Buffer
	batches int
	wipes   int
	replies bytes.Buffer
	notices []string
}

func (r *recorder) History(p []byte) { r.history.Write(p); r.batches++ }
func (r *recorder) Wipe()            { r.history.Reset(); r.wipes++ }
func (r *recorder) Reply(p []byte)   { r.replies.Write(p) }
func (r *recorder) Notice(k NoticeKind, s string) {
	r.notices = append(r.notices, fmt.Sprintf("%d:%s", k, s))
}

// runHere runs a request through a Terminal.
func runHere(q oracleRequest) (*Terminal, oracleScreen) {
	rec := &recorder{}
	term := New(q.Cols, q.Rows, rec)
	for _, c := range q.Chunks {
		if c.resize != nil {
			term.Resize(c.resize[0], c.resize[1])
		} else {
			term.Feed(c.feed)
		}
	}
	return term, screenOf(term, rec)
}

// plainCell is a cell that was never touched.
var plainCell = "\t1\t" + oracleStyle(CellStyle{})

// cellAt returns a cell of a row that may end before it.
func cellAt(row []string, x int) string {
	if x < len(row) {
		return row[x]
	}
	return plainCell
}

// screenOf brings a Terminal into the oracle's form.
func screenOf(term *Terminal, rec *recorder) oracleScreen {
	st := term.State()
	shown, other := st.Primary, st.Alternate
	if st.AlternateActive {
		shown, other = other, shown
	}
	out := oracleScreen{Cols: st.Cols, Lines: st.Rows, Title: st.Title, Replies: rec.replies.String()}
	out.Cursor.X, out.Cursor.Y = shown.X, shown.Y
	for y, line := range shown.Lines {
		cells := make([]string, len(line.Cells))
		for i, c := range line.Cells {
			cells[i] = fmt.Sprintf("%s\t%d\t%s", c.Text, c.Width, oracleStyle(c.Style))
		}
		for len(cells) > 0 && cells[len(cells)-1] == plainCell {
			cells = cells[:len(cells)-1]
		}
		out.Rows = append(out.Rows, cells)
		out.Wrapped = append(out.Wrapped, term.active.row(y).wrapped)
	}
	m := st.Modes
	out.State = oracleState{
		Alternate: st.AlternateActive, Top: shown.Top, Bottom: shown.Bottom, Tabs: shown.TabStops,
		Saved: oracleRegister(shown.Saved), SavedOther: oracleRegister(other.Saved),
		Pen: oracleStyle(st.PenShown),
		Modes: []bool{m.Insert, m.LineFeed, m.CursorKeys, m.Origin, m.AutoWrap, m.CursorBlink, m.CursorHidden,
			m.ReverseWrap, m.Keypad, m.FocusEvents, m.BracketedPaste, m.Synchronized},
		Mouse:       map[uint16]string{0: "NONE", 9: "X10", 1000: "VT200", 1002: "DRAG", 1003: "ANY"}[m.Mouse],
		Encoding:    map[uint16]string{0: "DEFAULT", 1006: "SGR", 1016: "SGR_PIXELS"}[m.MouseEncoding],
		CursorStyle: []string{" ", "block true", "block false", "underline true", "underline false", "bar true", "bar false", " true", " false"}[m.CursorStyle],
		Level:       st.Level, Mapping: probeCharset(st.Mapping), Last: st.Last,
		Parser: int(term.parser.state),
	}
	for _, g := range st.Charsets {
		out.State.Charsets = append(out.State.Charsets, probeCharset(g))
	}
	return out
}

func oracleStyle(s CellStyle) string {
	ul := s.UnderlineColor
	if s.Underline == 0 {
		ul = 0
	}
	return fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%s", s.Foreground, s.Background, ul, s.Underline, s.Attributes, s.URI)
}

func oracleRegister(s SavedState) oracleSaved {
	return oracleSaved{
		X: s.X, Y: s.Y, Fg: int(s.Foreground), Bg: int(s.Background), Attributes: int(s.Attributes),
		Underlined: s.Underlined, Extended: s.Extended, Mapping: probeCharset(s.Mapping),
	}
}

// probeCharset tells a charset by what it makes of some letters, as the oracle
// does.
func probeCharset(final byte) string {
	if final == charsetASCII {
		return ""
	}
	c := charsets{active: final}
	return strings.Map(c.mapped, "#@[\\]^_`{|}~aq")
}

// differences names what differs between two screens, the visible parts first.
func differences(a, b oracleScreen) []string {
	var out []string
	note := func(name string, x, y any) {
		if !reflect.DeepEqual(x, y) {
			out = append(out, fmt.Sprintf("%s: %q != %q", name, fmt.Sprint(x), fmt.Sprint(y)))
		}
	}
	if a.Error != b.Error {
		return []string{"error: " + a.Error + b.Error}
	}
	for y := range min(len(a.Rows), len(b.Rows)) {
		for x := range max(len(a.Rows[y]), len(b.Rows[y])) {
			p, q := cellAt(a.Rows[y], x), cellAt(b.Rows[y], x)
			if p != q && !forgotLink(p, q) {
				note(fmt.Sprintf("cell %d,%d", y, x), p, q)
			}
		}
	}
	note("size", [2]int{a.Cols, a.Lines}, [2]int{b.Cols, b.Lines})
	note("cursor", a.Cursor, b.Cursor)
	note("wrapped", a.Wrapped, b.Wrapped)
	if forgotLink(a.State.Pen, b.State.Pen) {
		a.State.Pen = b.State.Pen
	}
	s, r := reflect.ValueOf(a.State), reflect.ValueOf(b.State)
	for i := range s.NumField() {
		if s.Field(i).Kind() == reflect.Slice && s.Field(i).Len() == 0 && r.Field(i).Len() == 0 {
			continue
		}
		note(s.Type().Field(i).Name, s.Field(i).Interface(), r.Field(i).Interface())
	}
	note("title", a.Title, b.Title)
	note("replies", foreignReplies.ReplaceAllString(a.Replies, ""), foreignReplies.ReplaceAllString(b.Replies, ""))
	return out
}

// foreignReplies finds what xterm.js answers only in a browser, about colours,
// and what is answered about modes that it doesn't have.
var foreignReplies = regexp.MustCompile("\x1b\\][^\x1b]*\x1b\\\\|\x1b\\[48;[0-9;]*t|\x1b\\[\\?997;.n|\x1b\\[\\?20(31|48);.\\$y")

// forgotLink reports whether two cells differ only in a link whose target
// xterm.js has forgotten.
func forgotLink(a, b string) bool {
	x, y := strings.LastIndexByte(a, '\t')+1, strings.LastIndexByte(b, '\t')+1
	return (a[x:] == "?") != (b[y:] == "?") && a[x:] != "" && b[y:] != "" && a[:x] == b[:y]
}

// tally counts agreements and the kinds of differences.
type tally struct {
	n, agree int
	names    map[string]bool
	kinds    map[string]int
	examples []string
}

// add counts a stream. Those of one name are one, which agrees if all do.
func (y *tally) add(name string, diffs []string) {
	if y.names == nil {
		y.names = map[string]bool{}
	}
	agreed, seen := y.names[name]
	y.names[name] = len(diffs) == 0 && (agreed || !seen)
	switch {
	case !seen:
		y.n++
	case !agreed:
		return
	default:
		y.agree--
	}
	if len(diffs) == 0 {
		y.agree++
		return
	}
	kind, _, _ := strings.Cut(diffs[0], ":")
	kind, _, _ = strings.Cut(kind, " ")
	if y.kinds == nil {
		y.kinds = map[string]int{}
	}
	y.kinds[kind]++
	y.examples = append(y.examples, name+"\n\t\t"+strings.Join(diffs[:min(len(diffs), 4)], "\n\t\t"))
}

// report logs the figures and fails below a level, in parts of 1000, of which
// spare more may differ.
func (y *tally) report(t *testing.T, what string, least, spare int) {
	t.Helper()
	t.Logf("%s: %d of %d agree", what, y.agree, y.n)
	for _, k := range slices.Sorted(maps.Keys(y.kinds)) {
		t.Logf("\tfirst difference is %s: %d", k, y.kinds[k])
	}
	low := (y.n-y.agree-spare)*1000 > y.n*(1000-least)
	for i, e := range y.examples {
		if i < 12 || low && i < 40 {
			t.Logf("\t%s", e)
		}
	}
	if low {
		t.Errorf("%s: agreement is below %d‰", what, least)
	}
}

// randomRequests makes requests from the grammar.
func randomRequests(n int, mild bool) []oracleRequest {
	requests := make([]oracleRequest, n)
	for i := range requests {
		g := newGen(uint64(i)+1000, 0, 0)
		g.cols, g.rows = size(g.Rand)
		g.mild = mild
		requests[i] = oracleRequest{Cols: g.cols, Rows: g.rows, Chunks: []oracleChunk{{feed: g.stream(5 + g.IntN(60))}}}
	}
	return requests
}

// randomSpare is how many more random streams may differ than the level says:
// in a short run one of the rare ones is a larger part of the whole.
const randomSpare = 2

// oracleRounds is how many random streams of a kind go through xterm.js.
const oracleRounds = 800

// agreement runs requests through a Terminal and through xterm.js, and through
// xterm.js again as the repaint of the Terminal. Streams on which xterm.js
// itself breaks don't count.
func agreement(t *testing.T, names []string, requests []oracleRequest) (screen, repaint tally) {
	t.Helper()
	both := slices.Clone(requests)
	here := make([]oracleScreen, len(requests))
	for i, q := range requests {
		term, s := runHere(q)
		here[i] = s
		both = append(both, oracleRequest{Cols: term.cols, Rows: term.rows, Chunks: []oracleChunk{{feed: term.AppendRepaint(nil)}}})
	}
	screens := askOracle(t, both)
	for i, name := range names {
		raw, painted := screens[i], screens[len(requests)+i]
		if raw.Error != "" {
			t.Logf("xterm.js broke on %s: %s", name, raw.Error)
			continue
		}
		screen.add(name, differences(here[i], raw))
		painted.Replies, raw.Replies = "", ""
		if raw.Lines == 1 && !raw.State.Alternate { // see LineState
			painted.Wrapped, raw.Wrapped = nil, nil
		}
		repaint.add(name, differences(painted, raw))
	}
	return screen, repaint
}

func TestRandomStreamsAgreeWithXterm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                  string
		mild                  bool
		screenMin, repaintMin int
	}{{"mild", true, screenMildMin, repaintMildMin}, {"hostile", false, screenHostileMin, repaintHostileMin}} {
		t.Run(c.name, func(t *testing.T) {
			requests := tamed(randomRequests(scaled(oracleRounds), c.mild))
			names := make([]string, len(requests))
			for i, q := range requests {
				names[i] = fmt.Sprintf("stream %d, %dx%d, %q", i, q.Cols, q.Rows, q.Chunks[0].feed)
			}
			screen, repaint := agreement(t, names, requests)
			screen.report(t, "screen and registers", c.screenMin, randomSpare)
			repaint.report(t, "xterm.js fed with the repaint", c.repaintMin, randomSpare)
		})
	}
}

// The parts of 1000 below which agreement must not fall. What is left of the
// random streams is listed in docs/conformance.md.
const (
	screenMildMin, repaintMildMin       = 995, 995
	screenHostileMin, repaintHostileMin = 990, 990
	screenCorpusMin, repaintCorpusMin   = 996, 996
)

func tamed(requests []oracleRequest) []oracleRequest {
	for i := range requests {
		requests[i].Chunks[0].feed = tame(requests[i].Chunks[0].feed)
	}
	return requests
}

// tame cuts numbers that would keep xterm.js busy for hours.
func tame(p []byte) []byte {
	out := make([]byte, 0, len(p))
	digits := 0
	for _, c := range p {
		if c < '0' || c > '9' {
			digits = 0
		} else if digits++; digits > 4 {
			continue
		}
		out = append(out, c)
	}
	return out
}
