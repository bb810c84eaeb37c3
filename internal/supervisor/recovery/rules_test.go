// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"strings"
	"time"

	"spawn/internal/supervisor/topology"
)

func millisTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

const (
	p0Text    = `"text":{"availability":"plain","saved_at":"2026-11-06T22:00:00.000Z","expires_at":"2026-11-07T22:00:00.000Z","screen":["ready`
	tagsOfP1  = `"tags":[{"key":"group","value":"thread-7"},{"key":"owner","value":"spawnd"}]`
	rootSplit = `{"kind":"split","axis":"cols","first":1,"second":4,"ratio":1}`
	emptyWin  = `{"window":"w10","session":"s0","name":"","revision":1,"nodes":[]}`
)

// changes are edits of full-format-3.json, rule by rule.
var changes = []change{
	{"id of version 1", `-4cde-8`, `-1cde-8`, ErrCorrupt},
	{"id of variant c", `-8fab-`, `-cfab-`, ErrCorrupt},
	{"id in upper case", `89ab-4cde`, `89AB-4cde`, ErrCorrupt},
	{"id that leads away", `"c01234567-89ab-4cde-8fab-0123456789ab"`, `"../../../../../../../../../../../etc/pw"`, ErrCorrupt},
	{"generation 0", `"generation":9007199254740991`, `"generation":0`, ErrCorrupt},
	{"generation 1", `"generation":9007199254740991`, `"generation":1`, nil},
	{"generation beyond 2^53", `"generation":9007199254740991`, `"generation":9007199254740992`, ErrCorrupt},
	{"generation of 2^64", `"generation":9007199254740991`, `"generation":18446744073709551616`, ErrCorrupt},
	{"generation negative", `"generation":9007199254740991`, `"generation":-1`, ErrCorrupt},
	{"generation with a fraction", `"generation":9007199254740991`, `"generation":1.0`, ErrCorrupt},
	{"generation with an exponent", `"generation":9007199254740991`, `"generation":1e3`, ErrCorrupt},
	{"generation in quotes", `"generation":9007199254740991`, `"generation":"1"`, ErrCorrupt},
	{"socket relative", `"/run/user`, `"run/user`, ErrCorrupt},
	{"socket with a line feed", `"/run/user`, `"/run/\nuser`, nil},
	{"socket too long", `"/run/user`, `"/` + strings.Repeat("x", socketMax) + `/user`, ErrCorrupt},
	{"uid negative", `"uid":1000`, `"uid":-1`, ErrCorrupt},
	{"uid -0", `"uid":1000`, `"uid":-0`, ErrCorrupt},
	{"uid 0", `"uid":1000`, `"uid":0`, nil},
	{"uid beyond 32 bits", `"uid":1000`, `"uid":4294967296`, ErrCorrupt},
	{"time with a zone", `22:00:00.000Z","shutdown"`, `22:00:00.000+00:00","shutdown"`, ErrCorrupt},
	{"time with microseconds", `22:00:00.000Z","shutdown"`, `22:00:00.000000Z","shutdown"`, ErrCorrupt},
	{"time without milliseconds", `22:00:00.000Z","shutdown"`, `22:00:00Z","shutdown"`, ErrCorrupt},
	{"time with a comma", `22:00:00.000Z","shutdown"`, `22:00:00,000Z","shutdown"`, ErrCorrupt},
	{"time in small letters", `T22:00:00.000Z","shutdown"`, `t22:00:00.000z","shutdown"`, ErrCorrupt},
	{"time of February 30", `2026-11-06T22:00:00.000Z","shutdown"`, `2026-02-30T22:00:00.000Z","shutdown"`, ErrCorrupt},
	{"time of hour 24", `T22:00:00.000Z","shutdown"`, `T24:00:00.000Z","shutdown"`, ErrCorrupt},
	{"time of year 10000", `"captured_at":"2026-`, `"captured_at":"10000-`, ErrCorrupt},
	{"time of year 9999", `"captured_at":"2026-`, `"captured_at":"9999-`, nil},
	{"time of year 0", `"captured_at":"2026-`, `"captured_at":"0000-`, ErrCorrupt},
	{"time as a number", `"captured_at":"2026-11-06T22:00:00.000Z"`, `"captured_at":1794002400000`, ErrCorrupt},
	{"shutdown unknown", `"shutdown":"open"`, `"shutdown":"crash"`, ErrCorrupt},
	{"clean with a running pane", `"shutdown":"open"`, `"shutdown":"clean"`, ErrCorrupt},

	{"session id twice", `"session":"s9"`, `"session":"s0"`, ErrCorrupt},
	{"session ids unsorted", `{"session":"s0","name"`, `{"session":"s10","name"`, ErrCorrupt},
	{"session id with a leading zero", `"session":"s9"`, `"session":"s09"`, ErrCorrupt},
	{"session id of a window", `"session":"s9"`, `"session":"w9"`, ErrCorrupt},
	{"session id without a number", `"session":"s9"`, `"session":"s"`, ErrCorrupt},
	{"session id beyond 2^53", `"session":"s9"`, `"session":"s9007199254740992"`, ErrCorrupt},
	{"session id of 2^53 − 1", `"session":"s9"`, `"session":"s9007199254740991"`, nil},
	{"session id signed", `"session":"s9"`, `"session":"s+9"`, ErrCorrupt},
	{"name with an escape", `"name":"shell"`, `"name":"\u001b[31m"`, ErrCorrupt},
	{"name with C1", `"name":"shell"`, `"name":"` + "\u009b" + `31m"`, ErrCorrupt},
	{"name with DEL", `"name":"shell"`, `"name":"` + "\u007f" + `"`, ErrCorrupt},
	{"name too long", `"name":"shell"`, `"name":"` + strings.Repeat("é", topology.NameRunesMax+1) + `"`, ErrCorrupt},
	{"name as long as it may be", `"name":"shell"`, `"name":"` + strings.Repeat("é", topology.NameRunesMax) + `"`, nil},
	{"name that turns what follows", `"name":"shell"`, `"name":"` + "a\u202eb" + `"`, ErrCorrupt},
	{"name with space around it", `"name":"shell"`, `"name":" shell"`, ErrCorrupt},
	{"session without a name", `"name":"idle"`, `"name":""`, ErrCorrupt},
	{"name with a needless escape", `"name":"shell"`, `"name":"sh\u0065ll"`, ErrCorrupt},
	{"name with a lone surrogate", `"name":"shell"`, `"name":"\ud800"`, ErrCorrupt},

	{"window in no session", `"window":"w10","session":"s0"`, `"window":"w10","session":"s8"`, ErrCorrupt},
	{"window ids unsorted", `{"window":"w2"`, `{"window":"w11"`, ErrCorrupt},
	{"window id twice", `{"window":"w10"`, `{"window":"w2"`, ErrCorrupt},
	{"revision 0", `"revision":7`, `"revision":0`, ErrCorrupt},
	{"revision beyond 2^53", `"revision":7`, `"revision":9007199254740992`, ErrCorrupt},

	{"axis unknown", `"axis":"cols"`, `"axis":"diagonal"`, ErrCorrupt},
	{"kind unknown", `{"kind":"split"`, `{"kind":"leaf"`, ErrCorrupt},
	{"ratio 0", `"ratio":1}`, `"ratio":0}`, ErrCorrupt},
	{"ratio 10000", `"ratio":1}`, `"ratio":10000}`, ErrCorrupt},
	{"ratio 9999", `"ratio":1}`, `"ratio":9999}`, nil},
	{"ratio 5000", `"ratio":1}`, `"ratio":5000}`, nil},
	{"ratio negative", `"ratio":1}`, `"ratio":-1}`, ErrCorrupt},
	{"ratio with a fraction", `"ratio":1}`, `"ratio":1.5}`, ErrCorrupt},
	{"ratio in quotes", `"ratio":1}`, `"ratio":"1"}`, ErrCorrupt},
	{"ratio on a leaf", `{"kind":"pane","pane":"p1"}`, `{"kind":"pane","pane":"p1","ratio":1}`, ErrCorrupt},
	{"first child elsewhere", rootSplit, strings.Replace(rootSplit, `"first":1`, `"first":2`, 1), ErrCorrupt},
	{"split that is its own child", rootSplit, strings.Replace(rootSplit, `"first":1,"second":4`, `"first":0,"second":0`, 1), ErrCorrupt},
	{"second child too early", rootSplit, strings.Replace(rootSplit, `"second":4`, `"second":3`, 1), ErrCorrupt},
	{"second child outside", rootSplit, strings.Replace(rootSplit, `"second":4`, `"second":5`, 1), ErrCorrupt},
	{"split with a pane", rootSplit, strings.Replace(rootSplit, `"axis"`, `"pane":"p0","axis"`, 1), ErrCorrupt},
	{"second root", `{"kind":"pane","pane":"p0"}]`, `{"kind":"pane","pane":"p0"},{"kind":"pane","pane":"p9"}]`, ErrCorrupt},
	{"leaf missing", `,{"kind":"pane","pane":"p0"}]`, `]`, ErrCorrupt},
	{"leaf twice", `{"kind":"pane","pane":"p10"}`, `{"kind":"pane","pane":"p1"}`, ErrCorrupt},
	{"leaf without a pane", `{"kind":"pane","pane":"p10"}`, `{"kind":"pane","pane":"p12"}`, ErrCorrupt},
	{"float in a tree", emptyWin, strings.Replace(emptyWin, `[]`, `[{"kind":"pane","pane":"p11"}]`, 1), ErrCorrupt},
	{"pane of another window in a tree", emptyWin, strings.Replace(emptyWin, `[]`, `[{"kind":"pane","pane":"p0"}]`, 1), ErrCorrupt},
	{"nodes are null", `"nodes":[]`, `"nodes":null`, ErrCorrupt},

	{"pane ids unsorted", `{"pane":"p11"`, `{"pane":"p2"`, ErrCorrupt},
	{"pane in no window", `{"pane":"p11","window":"w10"`, `{"pane":"p11","window":"w3"`, ErrCorrupt},
	{"pane of another session", `{"pane":"p11","window":"w10","session":"s0"`, `{"pane":"p11","window":"w10","session":"s9"`, ErrCorrupt},
	{"no columns", `"cols":1,`, `"cols":0,`, ErrCorrupt},
	{"too many columns", `"cols":1,`, `"cols":65536,`, ErrCorrupt},
	{"too many rows", `"rows":65535,`, `"rows":65536,`, ErrCorrupt},
	{"state unknown", `"state":"running"`, `"state":"paused"`, ErrCorrupt},
	{"running with an exit code", `"state":"running"`, `"state":"running","exit_code":0`, ErrCorrupt},
	{"running with a signal", `"state":"running"`, `"state":"running","signal":"SIGHUP"`, ErrCorrupt},
	{"running with a previous state", `"state":"running"`, `"state":"running","previous_state":"exited"`, ErrCorrupt},
	{"exit code 255", `"exit_code":0`, `"exit_code":255`, nil},
	{"exit code 256", `"exit_code":0`, `"exit_code":256`, ErrCorrupt},
	{"exit code negative", `"exit_code":0`, `"exit_code":-1`, ErrCorrupt},
	{"exit code and signal", `"exit_code":0`, `"exit_code":0,"signal":"SIGHUP"`, ErrCorrupt},
	{"signal of another system", `"SIGKILL"`, `"SIGEMT9"`, nil},
	{"signal as a number", `"SIGKILL"`, `"9"`, ErrCorrupt},
	{"signal in small letters", `"SIGKILL"`, `"SIGKill"`, ErrCorrupt},
	{"signal without a name", `"SIGKILL"`, `"SIG"`, ErrCorrupt},
	{"signal empty", `"SIGKILL"`, `""`, ErrCorrupt},
	{"signal too long", `"SIGKILL"`, `"SIG` + strings.Repeat("A", 30) + `"`, ErrCorrupt},
	{"previous state unknown", `"previous_state":"interrupted"`, `"previous_state":"running"`, ErrCorrupt},

	{"layer tile", `"layer":"float"`, `"layer":"tile"`, ErrCorrupt},
	{"layer popup", `"layer":"float"`, `"layer":"popup"`, ErrCorrupt},
	{"float without a layer", `"layer":"float",`, ``, ErrCorrupt},
	{"layer on a tiled pane", `"state":"running"`, `"state":"running","layer":"float"`, ErrCorrupt},
	{"z 0", `"z":5`, `"z":0`, ErrCorrupt},
	{"z beyond 2^53", `"z":5`, `"z":9007199254740992`, ErrCorrupt},
	{"preset without a namespace", `"spawn.settings"`, `"settings"`, ErrCorrupt},
	{"preset without a name", `"spawn.settings"`, `"spawn."`, ErrCorrupt},
	{"preset too long", `"spawn.settings"`, `"spawn.` + strings.Repeat("a", topology.PresetMax-5) + `"`, ErrCorrupt},
	{"preset as long as it may be", `"spawn.settings"`, `"spawn.` + strings.Repeat("a", topology.PresetMax-6) + `"`, nil},
	{"preset with three parts", `"spawn.settings"`, `"spawn.settings.more"`, ErrCorrupt},
	{"preset that leads away", `"spawn.settings"`, `"../x"`, ErrCorrupt},
	{"width 0", `"width":"60%"`, `"width":"0"`, ErrCorrupt},
	{"width 0 percent", `"width":"60%"`, `"width":"0%"`, ErrCorrupt},
	{"width 100 percent", `"width":"60%"`, `"width":"100%"`, nil},
	{"width 101 percent", `"width":"60%"`, `"width":"101%"`, ErrCorrupt},
	{"width 65535", `"width":"60%"`, `"width":"65535"`, nil},
	{"width 65536", `"width":"60%"`, `"width":"65536"`, ErrCorrupt},
	{"width with a zero before", `"width":"60%"`, `"width":"060%"`, ErrCorrupt},
	{"width signed", `"width":"60%"`, `"width":"+6"`, ErrCorrupt},
	{"width as a number", `"width":"60%"`, `"width":60`, ErrCorrupt},
	{"height empty", `"height":"12"`, `"height":""`, ErrCorrupt},
	{"anchor unknown", `"bottom_right"`, `"bottom-right"`, ErrCorrupt},
	{"anchor with a dot", `"bottom_right"`, `".bottom_right"`, ErrCorrupt},
	{"border unknown", `"border":"single"`, `"border":"wavy"`, ErrCorrupt},
	{"x too small", `"x":-4096`, `"x":-4097`, ErrCorrupt},
	{"y too large", `"y":0`, `"y":4097`, ErrCorrupt},
	{"y as large as it may be", `"y":0`, `"y":4096`, nil},
	{"min_cols 0", `"min_cols":1`, `"min_cols":0`, ErrCorrupt},
	{"min_rows too large", `"min_rows":65535`, `"min_rows":65536`, ErrCorrupt},
	{"title too long", `"title":""`, `"title":"` + strings.Repeat("a", 129) + `"`, ErrCorrupt},
	{"title with a bell", `"title":""`, `"title":"\u0007"`, ErrCorrupt},

	{"no tags in a list", tagsOfP1, `"tags":[]`, ErrCorrupt},
	{"tags unsorted", `{"key":"group","value":"thread-7"},{"key":"owner","value":"spawnd"}`, `{"key":"owner","value":"spawnd"},{"key":"group","value":"thread-7"}`, ErrCorrupt},
	{"tag twice", `{"key":"group","value":"thread-7"}`, `{"key":"owner","value":"thread-7"}`, ErrCorrupt},
	{"tag key empty", `"key":"group"`, `"key":""`, ErrCorrupt},
	{"tag key in capitals", `"key":"group"`, `"key":"Group"`, ErrCorrupt},
	{"tag value with a tab", `"value":"spawnd"`, `"value":"a\tb"`, ErrCorrupt},
	{"tag value too long", `"value":"spawnd"`, `"value":"` + strings.Repeat("a", topology.TagValueMax+1) + `"`, ErrCorrupt},
	{"tag value as long as it may be", `"value":"spawnd"`, `"value":"` + strings.Repeat("a", topology.TagValueMax) + `"`, nil},
	{"tag value that does not show", `"value":"spawnd"`, `"value":"` + "a\u200bb" + `"`, ErrCorrupt},
	{"tag key too long", `"key":"group"`, `"key":"g` + strings.Repeat("a", topology.TagKeyMax) + `"`, ErrCorrupt},
	{"tag key as long as it may be", `"key":"group"`, `"key":"g` + strings.Repeat("a", topology.TagKeyMax-1) + `"`, nil},
	{"16 tags", tagsOfP1, `"tags":[` + manyTags(16) + `]`, nil},
	{"17 tags", tagsOfP1, `"tags":[` + manyTags(17) + `]`, ErrSize},

	{"availability unknown", `{"availability":"omitted"}`, `{"availability":"lost"}`, ErrCorrupt},
	{"omitted text that is there", `{"availability":"omitted"}`, `{"availability":"omitted","history":[]}`, ErrCorrupt},
	{"screen short of a row", `","screen":["ready` + "\u00a0😀" + `",""]`, `","screen":["ready` + "\u00a0😀" + `"]`, ErrCorrupt},
	{"screen with a row too many", `","screen":["ready` + "\u00a0😀" + `",""]`, `","screen":["ready` + "\u00a0😀" + `","",""]`, ErrCorrupt},
	{"row with an escape", p0Text, p0Text + `\u001b[2J`, ErrCorrupt},
	{"row with C1", p0Text, p0Text + "\u0090", ErrCorrupt},
	{"row with a line feed", p0Text, p0Text + `\n`, ErrCorrupt},
	{"row with a tab", p0Text, p0Text + `\t`, ErrCorrupt},
	{"row that is a number", `"previous \\ output"`, `1`, ErrCorrupt},
	{"text that expires before it was saved", `"expires_at":"2026-11-07T22:00:00.000Z"`, `"expires_at":"2026-11-06T21:59:59.999Z"`, ErrCorrupt},
	{"text that lives for 30 days", `"expires_at":"2026-11-07T22:00:00.000Z"`, `"expires_at":"2026-12-06T22:00:00.000Z"`, nil},
	{"text that lives for longer", `"expires_at":"2026-11-07T22:00:00.000Z"`, `"expires_at":"2026-12-06T22:00:00.001Z"`, ErrCorrupt},

	{"argv", `"state":"running"`, `"state":"running","argv":["/bin/sh","-c","reboot"]`, ErrCorrupt},
	{"environment", `"state":"running"`, `"state":"running","env":{"LD_PRELOAD":"/tmp/x.so"}`, ErrCorrupt},
	{"working folder", `"state":"running"`, `"state":"running","cwd":"/tmp"`, ErrCorrupt},
	{"pid", `"state":"running"`, `"state":"running","pid":1`, ErrCorrupt},
	{"white space before", `{"checkpoint"`, ` {"checkpoint"`, ErrCorrupt},
	{"byte order mark", `{"checkpoint"`, "\ufeff" + `{"checkpoint"`, ErrCorrupt},
	{"second value", `{"checkpoint"`, `{}{"checkpoint"`, ErrCorrupt},
}

func manyTags(n int) string {
	var tags []string
	for i := range n {
		tags = append(tags, `{"key":"`+string(rune('a'+i))+`","value":""}`)
	}
	return strings.Join(tags, ",")
}
