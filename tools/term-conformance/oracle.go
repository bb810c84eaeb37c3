// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"spawn/internal/strictjson"
	"spawn/tools/term-conformance/grid"
)

// oracleProducer names the producer of the oracle's states.
const oracleProducer = "xterm.js"

// errNoOracle says that Node or the packages of web/ are absent.
var errNoOracle = errors.New("the oracle is absent")

// screen is what the oracle prints for a session; tools/oracle/oracle.mjs describes it.
type screen struct {
	ID      int        `json:"id"`
	Error   string     `json:"error"`
	Rows    [][]string `json:"rows"`
	Wrapped []bool     `json:"wrapped"`
	Cursor  struct {
		X int `json:"x"`
		Y int `json:"y"`
	} `json:"cursor"`
	State   screenState `json:"state"`
	Replies string      `json:"replies"`
	Title   string      `json:"title"`
	Cols    int         `json:"cols"`
	Lines   int         `json:"lines"`
}

type screenState struct {
	Alternate   bool        `json:"alternate"`
	Top         int         `json:"top"`
	Bottom      int         `json:"bottom"`
	Tabs        []int       `json:"tabs"`
	Saved       screenSaved `json:"saved"`
	SavedOther  screenSaved `json:"savedOther"`
	Pen         string      `json:"pen"`
	Modes       []bool      `json:"modes"`
	Mouse       string      `json:"mouse"`
	Encoding    string      `json:"encoding"`
	CursorStyle string      `json:"cursorStyle"`
	Charsets    []string    `json:"charsets"`
	Level       int         `json:"level"`
	Mapping     string      `json:"mapping"`
	Last        int         `json:"last"`
	Parser      int         `json:"parser"`
}

type screenSaved struct {
	X          int    `json:"x"`
	Y          int    `json:"y"`
	Fg         uint32 `json:"fg"`
	Bg         uint32 `json:"bg"`
	Attributes uint16 `json:"attributes"`
	Underlined bool   `json:"underlined"`
	Extended   bool   `json:"extended"`
	Mapping    string `json:"mapping"`
}

// findOracle returns the command that runs the oracle, or errNoOracle.
func findOracle(ctx context.Context, root string) (*exec.Cmd, error) {
	modules := os.Getenv("SPAWN_NODE_MODULES")
	if modules == "" {
		modules = filepath.Join(root, "web", "node_modules")
	}
	if _, err := os.Stat(filepath.Join(modules, "@xterm", "headless", "package.json")); err != nil {
		return nil, fmt.Errorf("%w: run npm ci in web/: %w", errNoOracle, err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoOracle, err)
	}
	cmd := exec.CommandContext(ctx, node, filepath.Join(root, "tools", "oracle", "oracle.mjs"))
	cmd.Env = append(os.Environ(), "SPAWN_NODE_MODULES="+modules)
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// askOracle runs all sessions through xterm.js, in one process.
func askOracle(ctx context.Context, root string, sessions []session) ([]screen, error) {
	if len(sessions) == 0 {
		return nil, nil
	}
	cmd, err := findOracle(ctx, root)
	if err != nil {
		return nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("run the oracle: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("run the oracle: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run the oracle: %w", err)
	}
	sent := make(chan error, 1)
	go func() { sent <- sendSessions(in, sessions) }()
	screens, readErr := readScreens(out, len(sessions))
	if readErr != nil {
		cmd.Process.Kill() // else it may wait for a reader for ever
	}
	err = errors.Join(readErr, <-sent, cmd.Wait())
	if err != nil {
		return nil, fmt.Errorf("ask the oracle: %w", err)
	}
	return screens, nil
}

func sendSessions(in io.WriteCloser, sessions []session) error {
	w := bufio.NewWriter(in)
	for i, s := range sessions {
		line, err := strictjson.Marshal(struct {
			ID     int     `json:"id"`
			Cols   int     `json:"cols"`
			Rows   int     `json:"rows"`
			Chunks []chunk `json:"chunks"`
		}{i, s.cols, s.rows, s.chunks})
		if err != nil {
			return errors.Join(err, in.Close())
		}
		w.Write(append(line, '\n'))
	}
	return errors.Join(w.Flush(), in.Close())
}

func readScreens(r io.Reader, n int) ([]screen, error) {
	lines := bufio.NewReader(r)
	screens := make([]screen, n)
	for i := range screens {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("read screen %d: %w", i, err)
		}
		if err := strictjson.Unmarshal(line, &screens[i]); err != nil {
			return nil, fmt.Errorf("read screen %d: %w", i, err)
		}
		if screens[i].ID != i {
			return nil, fmt.Errorf("screen %d has the number %d", i, screens[i].ID)
		}
	}
	return screens, nil
}

// grid brings a screen of the oracle into the common form.
func (s *screen) grid() (*grid.Grid, error) {
	if s.Error != "" {
		return nil, fmt.Errorf("the oracle broke: %s", s.Error)
	}
	st := &s.State
	pen, err := parseStyle(strings.Split(st.Pen, "\t"))
	if err != nil {
		return nil, err
	}
	g := &grid.Grid{
		Schema: grid.SchemaVersion, Producer: oracleProducer, Cols: s.Cols, Rows: s.Lines,
		Cursor:    &grid.Cursor{Row: s.Cursor.Y, Col: min(s.Cursor.X, s.Cols-1), PendingWrap: new(s.Cursor.X >= s.Cols)},
		Alternate: &st.Alternate, Title: &s.Title,
		Modes: st.modes(), Margins: &grid.Margins{Top: st.Top, Bottom: st.Bottom}, Tabs: &st.Tabs,
		Pen: &pen, Saved: st.Saved.grid(), SavedOff: st.SavedOther.grid(),
		Charsets:  &grid.Charsets{G: st.Charsets, Level: st.Level, Mapping: st.Mapping},
		LastWidth: &st.Last, InSequence: new(st.Parser != 0),
	}
	for y, row := range s.Rows {
		line := &grid.Line{Wrapped: &s.Wrapped[y]}
		for _, text := range row {
			cell, err := parseCell(text)
			if err != nil {
				return nil, err
			}
			line.Cells = append(line.Cells, cell)
		}
		line.Trim()
		g.Lines = append(g.Lines, line)
	}
	g.ForgetOnlyWrap()
	return g, nil
}

func (s *screenSaved) grid() *grid.Saved {
	return &grid.Saved{
		Row: s.Y, Col: s.X, Pen: grid.StyleOf(s.Fg, s.Bg, 0, 0, s.Attributes, ""),
		Underlined: &s.Underlined, Extended: &s.Extended, Mapping: s.Mapping,
	}
}

var (
	mouseProtocols = map[string]int{"NONE": 0, "X10": 9, "VT200": 1000, "DRAG": 1002, "ANY": 1003}
	mouseEncodings = map[string]int{"DEFAULT": 0, "SGR": 1006, "SGR_PIXELS": 1016}
	blinking       = strings.NewReplacer("true", "blink", "false", "steady")
)

func (st *screenState) modes() *grid.Modes {
	m := st.Modes
	return &grid.Modes{
		Insert: &m[0], LineFeed: &m[1], CursorKeys: &m[2], Origin: &m[3], AutoWrap: &m[4], CursorBlink: &m[5],
		CursorHidden: &m[6], ReverseWrap: &m[7], Keypad: &m[8], FocusEvents: &m[9], BracketedPaste: &m[10], Synchronized: &m[11],
		Mouse: new(mouseProtocols[st.Mouse]), MouseEncoding: new(mouseEncodings[st.Encoding]),
		CursorStyle: new(strings.TrimSpace(blinking.Replace(st.CursorStyle))),
	}
}

// parseCell reads text, width and style with tabs between them.
func parseCell(text string) (*grid.Cell, error) {
	fields := strings.Split(text, "\t")
	if len(fields) < 3 {
		return nil, fmt.Errorf("read the oracle's cell %q: too short", text)
	}
	width, err := strconv.Atoi(fields[1])
	if err != nil {
		return nil, fmt.Errorf("read the oracle's cell %q: %w", text, err)
	}
	style, err := parseStyle(fields[2:])
	return &grid.Cell{Text: fields[0], Width: grid.WidthOf(width), Style: style}, err
}

// parseStyle reads three colours, underline, attributes and link.
func parseStyle(fields []string) (grid.Style, error) {
	if len(fields) != 6 {
		return grid.Style{}, fmt.Errorf("read the oracle's style %q: want 6 fields", fields)
	}
	var n [5]uint32
	for i := range n {
		v, err := strconv.ParseUint(fields[i], 10, 32)
		if err != nil {
			return grid.Style{}, fmt.Errorf("read the oracle's style: %w", err)
		}
		n[i] = uint32(v)
	}
	link := grid.Link(fields[5])
	if link == "?" {
		link = grid.LinkUnknown
	}
	return grid.StyleOf(n[0], n[1], n[2], uint8(n[3]), uint16(n[4]), link), nil
}

// foreignReplies finds the answers that xterm.js gives only in a browser, about colours, and those about modes
// that it doesn't have: sizes in band, and dark or light.
var foreignReplies = regexp.MustCompile("\x1b\\][^\x1b]*\x1b\\\\|\x1b\\[48;[0-9;]*t|\x1b\\[\\?997;.n|\x1b\\[\\?20(31|48);.\\$y")
