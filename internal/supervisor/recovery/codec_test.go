// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/topology"
)

var reading = Reading{BytesMax: FileBytesMax, Newest: Format3}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	must(t, err)
	return b
}

// wrap is the script of the specification: it wraps any payload in an envelope of any format.
func wrap(t testing.TB, payload string, format int) []byte {
	t.Helper()
	quoted, err := strictjson.Marshal(payload)
	must(t, err)
	return fmt.Appendf(nil, "{\"format\":%d,\"payload\":%s,\"sha256\":\"%s\"}\n", format, quoted, digestOf([]byte(payload)))
}

// payloadOf takes a file apart without any of our rules.
func payloadOf(t testing.TB, file []byte) string {
	t.Helper()
	var envelope struct{ Payload string }
	must(t, json.Unmarshal(file, &envelope))
	return envelope.Payload
}

func TestExamplesOfTheSpecification(t *testing.T) {
	for own := Format1; own <= Format3; own++ {
		file := fixture(t, fmt.Sprintf("example-format-%d.json", own))
		c, format, err := Decode(file, reading)
		if err != nil || format != own {
			t.Fatalf("format %d: read as %d, %v", own, format, err)
		}
		if again, err := encodeAs(c, own, FileBytesMax); err != nil || !bytes.Equal(again, file) {
			t.Errorf("format %d is written again as %s (%v)", own, again, err)
		}
		for as := Format1; as <= Format3; as++ {
			rewrapped := wrap(t, payloadOf(t, file), as)
			if as == own && !bytes.Equal(rewrapped, file) {
				t.Errorf("the example of format %d is not wrapped as the script wraps it", own)
			}
			if _, _, err := Decode(rewrapped, reading); (as < own) != errors.Is(err, ErrCorrupt) || as >= own && err != nil {
				t.Errorf("example of format %d in an envelope of format %d: %v", own, as, err)
			}
		}
	}
}

func TestAReaderRefusesALaterFormat(t *testing.T) {
	for newest := Format1; newest <= Format3; newest++ {
		for own := Format1; own <= Format3; own++ {
			_, _, err := Decode(fixture(t, fmt.Sprintf("example-format-%d.json", own)), Reading{FileBytesMax, newest})
			if own > newest != errors.Is(err, ErrFormat) || own <= newest && err != nil {
				t.Errorf("reader of up to %d, file of %d: %v", newest, own, err)
			}
		}
	}
}

// full has every field that a writer can write.
func full() Checkpoint {
	code, x, y, title := 0, -4096, 0, ""
	saved := MillisOf(millisTime("2026-11-06T22:00:00.000Z"))
	return Checkpoint{
		ID: "c01234567-89ab-4cde-8fab-0123456789ab", Generation: safeInteger, Socket: "/run/user/1000/spawn/spawnd.sock", UID: 1000,
		CapturedAt: saved, Shutdown: ShutdownOpen,
		Sessions: []Session{{"s0", "work \"é\" \\ \u00a0x"}, {"s9", "idle"}},
		Windows: []Window{
			{"w2", "s0", "shell", 7, []Node{
				{Kind: NodeSplit, Axis: AxisCols, First: 1, Second: 4, Ratio: 1}, {Kind: NodeSplit, Axis: AxisRows, First: 2, Second: 3},
				{Kind: NodePane, Pane: "p1"}, {Kind: NodePane, Pane: "p10"}, {Kind: NodePane, Pane: "p0"},
			}},
			{"w10", "s0", "", 1, []Node{}},
		},
		Panes: []Pane{
			{ID: "p0", Window: "w2", Session: "s0", Cols: 80, Rows: 2, State: StateRunning, Text: Text{
				Availability: TextPlain, SavedAt: saved, ExpiresAt: saved.Plus(86400), Screen: []string{"ready\u00a0😀", ""}, History: list("previous \\ output")}},
			{ID: "p1", Window: "w2", Session: "s0", Cols: 1, Rows: 65535, State: StateExited, ExitCode: &code, PreviousState: ProcessExited,
				Tags: []Tag{{"group", "thread-7"}, {"owner", "spawnd"}}, Text: Text{Availability: TextExpired}},
			{ID: "p10", Window: "w2", Session: "s0", Cols: 80, Rows: 1, State: StateExited, Signal: "SIGKILL", Text: Text{
				Availability: TextPlain, SavedAt: saved, ExpiresAt: saved, Screen: []string{""}, History: list()}},
			{ID: "p11", Window: "w10", Session: "s0", Cols: 64, Rows: 19, State: StateExited, PreviousState: ProcessInterrupted, Layer: LayerFloat,
				Float: &Float{Preset: "spawn.settings", Width: "60%", Height: "12", Anchor: "bottom_right", X: &x, Y: &y, MinCols: 1, MinRows: 65535,
					Border: "single", Title: &title, Z: 5}, Text: Text{Availability: TextOmitted}},
		},
	}
}

func TestWriterIsPinned(t *testing.T) {
	file, err := Encode(full(), FileBytesMax)
	must(t, err)
	if want := fixture(t, "full-format-3.json"); !bytes.Equal(file, want) {
		t.Errorf("wrote\n%s, want\n%s", file, want)
	}
	back, format, err := Decode(file, reading)
	if err != nil || format != Format3 || !reflect.DeepEqual(back, full()) {
		t.Errorf("read %+v, %v", back, err)
	}
}

func TestEmptyCheckpoint(t *testing.T) {
	c := full()
	c.Sessions, c.Windows, c.Panes = nil, nil, nil
	file, err := Encode(c, FileBytesMax)
	must(t, err)
	if !strings.HasSuffix(payloadOf(t, file), `"sessions":[],"windows":[],"panes":[]}`) {
		t.Errorf("wrote %s", file)
	}
	if _, _, err := Decode(file, reading); err != nil {
		t.Error(err)
	}
}

// The format decides before anything else is looked at, but for the size.
func TestFormatComesFirst(t *testing.T) {
	for envelope, want := range map[string]error{
		`{"format":4,"payload":"","sha256":""}`: ErrFormat, `{"format":0}`: ErrFormat, `{"format":-1,"x":`: ErrFormat, `{ "other": 1, "format": 99999999999999999999}`: ErrFormat,
		`{"format":3}`: ErrCorrupt, `{"format":"3"}`: ErrCorrupt, `{"format":3.0}`: ErrCorrupt, `{"format":null}`: ErrCorrupt, `{"format":true}`: ErrCorrupt,
		`{"payload":"","sha256":""}`: ErrCorrupt, ``: ErrCorrupt, `null`: ErrCorrupt, `[4]`: ErrCorrupt, "\ufeff{\"format\":4}": ErrCorrupt, "\x00": ErrCorrupt,
	} {
		if _, _, err := Decode([]byte(envelope), reading); !errors.Is(err, want) {
			t.Errorf("%q: %v", envelope, err)
		}
	}
	if _, _, err := Decode([]byte(`{"format":4}`), Reading{BytesMax: 11, Newest: Format3}); !errors.Is(err, ErrSize) {
		t.Errorf("a file that is too long: %v", err)
	}
}

// T72: each byte as each other one. Only a digit in the place of the format's, or behind it, makes another format of it, which is told
// before anything else is looked at.
func TestEveryChangedByteIsFound(t *testing.T) {
	file := fixture(t, "example-format-3.json")
	at := len(`{"format":`)
	for i := range file {
		changed := bytes.Clone(file)
		for by := range 256 {
			want := ErrCorrupt // also as format 1 or 2, which have no ratios
			switch changed[i] = byte(by); {
			case changed[i] == file[i]:
				continue
			case i == at && isDigit(byte(by)) && by != '1' && by != '2', i == at+1 && isDigit(byte(by)):
				want = ErrFormat
			}
			if _, _, err := Decode(changed, reading); !errors.Is(err, want) {
				t.Errorf("byte %d as %q: %v", i, changed[i], err)
			}
		}
		if _, _, err := Decode(file[:i], reading); !errors.Is(err, ErrCorrupt) {
			t.Errorf("first %d bytes: %v", i, err)
		}
		if _, _, err := Decode(append(bytes.Clone(file[:i]), file[i+1:]...), reading); !errors.Is(err, ErrCorrupt) && i != at {
			t.Errorf("without byte %d: %v", i, err)
		}
	}
	for _, more := range []string{"\n", " ", "\x00", "{}"} {
		if _, _, err := Decode(append(bytes.Clone(file), more...), reading); !errors.Is(err, ErrCorrupt) {
			t.Errorf("with %q behind: %v", more, err)
		}
	}
}

// Each member of each record, removed, doubled, renamed, renamed by case alone, null, or followed by white space.
func TestEveryMemberIsStrict(t *testing.T) {
	payload := payloadOf(t, fixture(t, "full-format-3.json"))
	members := regexp.MustCompile(`"[a-z0-9_]+":`).FindAllStringIndex(payload, -1)
	if len(members) < 90 {
		t.Fatalf("found only %d members", len(members))
	}
	optional := map[string]bool{}
	for _, m := range members {
		name, after := payload[m[0]:m[1]], payload[m[1]:]
		values := json.NewDecoder(strings.NewReader(after))
		var value json.RawMessage
		must(t, values.Decode(&value))
		end := m[1] + int(values.InputOffset())
		before, behind := payload[:m[0]], payload[end:]
		changes := map[string]string{
			"doubled":   before + name + string(value) + "," + payload[m[0]:],
			"renamed":   before + `"x` + name[1:] + payload[m[1]:],
			"case":      before + strings.ToUpper(name) + payload[m[1]:],
			"null":      before + name + "null" + behind,
			"space":     payload[:m[1]] + " " + after,
			"an object": before + name + "{}" + behind,
			"false":     before + name + "false" + behind,
			"a huge":    before + name + "1e400" + behind,
		}
		removed := strings.TrimSuffix(before, ",") + behind
		if strings.HasSuffix(before, "{") {
			removed = before + strings.TrimPrefix(behind, ",")
		}
		if _, _, err := Decode(wrap(t, removed, Format3), reading); err == nil {
			optional[name] = true
		} else if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s removed: %v", name, err)
		}
		for how, changed := range changes {
			if _, _, err := Decode(wrap(t, changed, Format3), reading); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s %s: %v", name, how, err)
			}
		}
	}
	want := map[string]bool{}
	for _, name := range strings.Fields("ratio exit_code signal previous_state tags preset width height anchor x y min_cols min_rows border title") {
		want[`"`+name+`":`] = true
	}
	if !reflect.DeepEqual(optional, want) {
		t.Errorf("optional are %v", optional)
	}
}

// change is one edit of the full payload, and what the reader must say to it.
type change struct {
	name, from, to string
	want           error
}

func TestRulesOfAPayload(t *testing.T) {
	payload := payloadOf(t, fixture(t, "full-format-3.json"))
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			if strings.Count(payload, c.from) < 1 {
				t.Fatalf("%s is not in the payload", c.from)
			}
			_, _, err := Decode(wrap(t, strings.Replace(payload, c.from, c.to, 1), Format3), reading)
			if c.want == nil && err != nil || !errors.Is(err, c.want) {
				t.Errorf("%s: %v", c.to, err)
			}
		})
	}
}

func TestDepthAndCountsAreBoundedBeforeAllocation(t *testing.T) {
	nested := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	for name, payload := range map[string]string{
		"panes":       `{"panes":[` + strings.Repeat("{},", 2_000_000) + `{}]}`,
		"nodes":       `{"windows":[{"nodes":[` + strings.Repeat("{},", 2_000_000) + `{}]}]}`,
		"rows":        `{"panes":[{"text":{"screen":[` + strings.Repeat(`"",`, 2_000_000) + `""]}}]}`,
		"tags":        `{"panes":[{"tags":[` + strings.Repeat("{},", 2_000_000) + `{}]}]}`,
		"depth":       nested,
		"open arrays": strings.Repeat("[", 4_000_000),
		"members":     `{` + strings.Repeat(`"a":1,`, 1_000_000) + `"a":1}`,
	} {
		file := wrap(t, payload, Format3)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := Decode(file, reading)
		runtime.ReadMemStats(&after)
		want := ErrSize
		if name == "members" { // some of which no record has, or has twice
			want = ErrCorrupt
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
		// The payload, unquoted and quoted again, and growth of those buffers; 50,000 small tokens.
		if spent, most := after.TotalAlloc-before.TotalAlloc, uint64(12*len(file)+8<<20); spent > most {
			t.Errorf("%s: %d bytes allocated for a file of %d", name, spent, len(file))
		}
	}
}

// What an earlier format does not have is damage there, and no matter of how much there is of it.
func TestTooManyTagsAreDamageWhereThereAreNone(t *testing.T) {
	payload := payloadOf(t, fixture(t, "example-format-2.json"))
	tags := `"tags":[` + strings.Repeat(`{"key":"a","value":"b"},`, topology.TagsMax) + `{"key":"z","value":"b"}]`
	payload = regexp.MustCompile(`"tags":\[[^]]*\]`).ReplaceAllLiteralString(payload, tags)
	for format, want := range map[int]error{Format1: ErrCorrupt, Format2: ErrSize, Format3: ErrSize} {
		if _, _, err := Decode(wrap(t, payload, format), reading); !errors.Is(err, want) {
			t.Errorf("format %d: %v", format, err)
		}
	}
}

func TestResourcesAreBoundedExactly(t *testing.T) {
	for _, n := range []int{ResourcesMax, ResourcesMax + 1} {
		c := full()
		c.Windows, c.Panes, c.Sessions = nil, nil, make([]Session, n)
		for i := range c.Sessions {
			c.Sessions[i] = Session{ID: fmt.Sprintf("s%d", i), Name: "x"}
		}
		file, err := Encode(c, FileBytesMax)
		if n > ResourcesMax != errors.Is(err, ErrSize) {
			t.Fatalf("%d sessions: %v", n, err)
		}
		if err == nil {
			if _, _, err := Decode(file, reading); err != nil {
				t.Error(err)
			}
		}
	}
}

// A message is the same whatever the file says, so it can hold nothing of it.
func TestErrorsHoldNothingOfThePayload(t *testing.T) {
	const canary = "canary7"
	payload := payloadOf(t, fixture(t, "full-format-3.json"))
	for _, c := range append(changes, change{"", `"panes":[`, `"` + canary + `":1,"panes":[`, ErrCorrupt}) {
		_, _, err := Decode(wrap(t, strings.ReplaceAll(strings.Replace(payload, c.from, c.to, 1), "ready", canary), Format3), reading)
		if err != nil && (strings.Contains(err.Error(), canary) || len(err.Error()) > 120) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func FuzzDecodePayload(f *testing.F) {
	for _, name := range []string{"example-format-1.json", "example-format-2.json", "example-format-3.json", "full-format-3.json"} {
		f.Add(payloadOf(f, fixture(f, name)), Format3)
	}
	f.Fuzz(func(t *testing.T, payload string, format int) {
		if _, err := strictjson.Marshal(payload); err != nil || format < Format1 || format > Format3 {
			return
		}
		decodesToItself(t, wrap(t, payload, format))
	})
}

func FuzzDecodeFile(f *testing.F) {
	for _, name := range []string{"example-format-1.json", "example-format-2.json", "example-format-3.json", "full-format-3.json"} {
		f.Add(fixture(f, name))
	}
	f.Fuzz(decodesToItself)
}

// decodesToItself is the oracle: what is accepted is written again as the same bytes.
func decodesToItself(t *testing.T, file []byte) {
	c, format, err := Decode(file, reading)
	if err != nil {
		if CodeOf(err) == CodeIO {
			t.Errorf("not a finding about the file: %v", err)
		}
		return
	}
	if again, err := encodeAs(c, format, FileBytesMax); err != nil || !bytes.Equal(again, file) {
		t.Errorf("%q is written again as %q (%v)", file, again, err)
	}
}
