// SPDX-License-Identifier: Apache-2.0

package supervisor_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pion/webrtc/v4"

	"spawn/internal/sessiond/wire"
	"spawn/internal/strictjson"
	"spawn/internal/supervisor/page"
	"spawn/internal/supervisor/verbs"
)

// laptopLink names in the environment of a process of its own, the laptop, the link by which it comes in.
const laptopLink = "SPAWN_TEST_LAPTOP_LINK"

// What the program writes once it is told to: more than all queues on the way to a page hold, of a period that no chunk has.
const (
	floodWord  = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-"
	floodLines = 400_000
	floodEnd   = "the flood is over"
)

var floods = fmt.Sprintf("stty -echo; read go; yes %s | head -n %d; echo %s; exec sleep 1000", floodWord, floodLines, floodEnd)

// nap is how long the laptop goes on sleeping after the flood.
const nap = 2 * time.Second

// F17: a laptop falls asleep while a terminal floods its page. Neither the program nor who else looks waits for it; when it
// wakes up it goes on, over the same channels, from a snapshot that it asks for, and has not one wrong byte before or behind it.
func TestALaptopFallsAsleepBesideAFlood(t *testing.T) {
	if link := os.Getenv(laptopLink); link != "" {
		beLaptop(t, link)
		return
	}
	h := start(t, options(t))
	defer func() { h.signal(); h.ended() }()
	h.terminal(floods)
	awake, _, err := h.socket.Stream(t.Context(), verbs.PaneStreamParams{Pane: "p0", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer awake.Close()
	laptop := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	laptop.Env = append(os.Environ(), laptopLink+"="+h.share(verbs.ShareCreateParams{Resource: "pane:p0"}).URL)
	laptop.Stderr = os.Stderr
	out, err := laptop.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := laptop.Start(); err != nil {
		t.Fatal(err)
	}
	defer laptop.Process.Kill() // a stopped process would stay when the test fails
	overdue := time.AfterFunc(2*visitTime, func() { _ = laptop.Process.Kill(); _ = awake.Close() })
	defer overdue.Stop()
	says := bufio.NewScanner(out)
	until := func(word string) string {
		t.Helper()
		for says.Scan() {
			if _, rest, ok := strings.Cut(says.Text(), word); ok {
				return rest
			}
			t.Logf("the laptop says %s", says.Text())
		}
		t.Fatalf("the laptop does not say %q: %v", word, errors.Join(says.Err(), laptop.Wait()))
		return ""
	}

	until("LOOKS")
	h.call(verbs.PaneSend, verbs.PaneSendParams{Pane: "p0", Text: "\r"}, &verbs.PaneSendResult{})
	asleep := false
	for taken, last := 0, []byte(nil); !bytes.Contains(last, []byte(floodEnd)); {
		kind, p, err := awake.Recv()
		if err != nil {
			t.Fatalf("after %d bytes: %v", taken, err)
		}
		if kind == wire.KindOutput || kind == wire.KindReplay {
			taken, last = taken+len(p), append(last[max(0, len(last)-len(floodEnd)):], p...)
		}
		if !asleep && taken > 1<<20 {
			asleep = laptop.Process.Signal(syscall.SIGSTOP) == nil
		}
	}
	if !asleep {
		t.Fatal("the flood was over before the laptop slept")
	}
	<-time.After(nap)
	_ = laptop.Process.Signal(syscall.SIGCONT)
	said := until("HAS")
	t.Logf("the laptop has %s", said)
	if err := laptop.Wait(); err != nil {
		t.Errorf("the laptop ended with %v", err)
	}
}

// beLaptop looks at the pane until the end of the flood and then holds every byte that came against the program's.
func beLaptop(t *testing.T, link string) {
	v, _ := visit(t, link)
	var mu sync.Mutex
	var came []byte // on the pane's channel
	var cuts []cut
	var screen bytes.Buffer // of the snapshot that is coming
	shown, dropped, over := make(chan struct{}, 1000), make(chan struct{}, 1000), make(chan struct{})
	end := sync.OnceFunc(func() { close(over) })
	v.ctl.OnMessage(func(m webrtc.DataChannelMessage) {
		var e page.SnapshotEvent
		if bytes.HasPrefix(m.Data, []byte(`{"event":"dropped"`)) {
			dropped <- struct{}{}
			return
		}
		if !bytes.HasPrefix(m.Data, []byte(`{"event":"snapshot"`)) {
			var said heard
			if strictjson.Unmarshal(m.Data, &said) == nil {
				v.heard <- said
			}
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if err := strictjson.Unmarshal(m.Data, &e); err != nil {
			t.Error(err)
			return
		}
		if e.SnapshotHead != nil {
			at, err := strconv.ParseUint(e.Watermark, 10, 64)
			if err != nil {
				t.Error(err)
			}
			cuts = append(cuts, cut{channel: int(e.DCOffset), program: int(at)})
			screen.Reset()
		}
		piece, err := base64.RawURLEncoding.DecodeString(e.Data)
		if err != nil {
			t.Error(err)
		}
		screen.Write(piece)
		if e.Last {
			shown <- struct{}{}
			if bytes.Contains(screen.Bytes(), []byte(floodEnd)) {
				end()
			}
		}
	})
	v.channel("spawn.pty.p0", func(p []byte) {
		mu.Lock()
		defer mu.Unlock()
		came = append(came, p...)
		if bytes.Contains(came[max(0, len(came)-len(p)-len(floodEnd)):], []byte(floodEnd)) {
			end()
		}
	})
	await(t, v.opened, "the pane's channel")
	if said, code := v.ask("view.attach", `{"pane":"p0","cols":20,"rows":5,"history":false}`); code != "" {
		t.Fatalf("attach: %s %s", code, said)
	}
	await(t, shown, "the first snapshot")
	fmt.Println("LOOKS")
	drops := 0
	for ended := false; !ended; {
		select {
		case <-dropped:
			drops++
			if err := v.ctl.SendText(`{"id":9,"verb":"view.snapshot","params":{"pane":"p0","full":false}}`); err != nil {
				t.Fatal(err)
			}
		case <-over:
			ended = true
		case <-bounded(t).Done():
			mu.Lock()
			t.Fatalf("the end of the flood did not come; %d bytes did, and snapshots %v after %d drops", len(came), cuts, drops)
		}
	}
	// What the two channels carry beside each other comes in any order.
	look, overdue := time.NewTicker(20*time.Millisecond), time.After(visitTime/2)
	defer look.Stop()
	for {
		mu.Lock()
		err, n, snapshots := exact(came, cuts), len(came), len(cuts)
		mu.Unlock()
		if err == nil {
			if drops == 0 || snapshots < 2 {
				t.Errorf("%d bytes came, and no snapshot after the first: nothing was dropped", n)
			}
			fmt.Printf("HAS %d bytes, %d drops and %d snapshots\n", n, drops, snapshots)
			return
		}
		select {
		case <-look.C:
		case <-overdue:
			t.Fatal(err)
		}
	}
}

// cut is where a snapshot was taken: after so many bytes of the channel, and of the program.
type cut struct{ channel, program int }

// exact holds what came on the channel between two cuts against what the program wrote behind the first.
func exact(came []byte, cuts []cut) error {
	if !slices.IsSortedFunc(cuts, func(a, b cut) int { return a.channel - b.channel }) {
		return fmt.Errorf("snapshots in no order: %v", cuts)
	}
	first := cuts[0].program // before the program was told to begin
	line := []byte(floodWord + "\r\n")
	flood := append(bytes.Repeat(line, floodLines), floodEnd+"\r\n"...)
	for i, c := range cuts {
		end := len(came)
		if i+1 < len(cuts) {
			end = cuts[i+1].channel
		}
		from := c.program - first
		if c.channel > end || end > len(came) || from < 0 || from+end-c.channel > len(flood) {
			return fmt.Errorf("snapshot %+v, and the channel has %d bytes up to the next of %d", c, end, len(came))
		}
		if got, want := came[c.channel:end], flood[from:][:end-c.channel]; !bytes.Equal(got, want) {
			return fmt.Errorf("behind snapshot %+v came %.80q, want %.80q", c, got, want)
		}
	}
	return nil
}
