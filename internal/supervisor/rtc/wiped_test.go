// SPDX-License-Identifier: Apache-2.0

package rtc

import (
	"bytes"
	"io"
	"testing"

	"github.com/pion/datachannel"
)

// spoken is a stream that hands out its messages as the stack does: of one that does not fit, the beginning is written too.
type spoken struct {
	datachannel.ReadWriteCloserDeadliner
	messages []string
	text     bool
}

func (s *spoken) ReadDataChannel(p []byte) (int, bool, error) {
	if len(s.messages) == 0 {
		return 0, false, io.EOF
	}
	n := copy(p, s.messages[0])
	if n < len(s.messages[0]) {
		return n, false, io.ErrShortBuffer
	}
	s.messages = s.messages[1:]
	return n, s.text, nil
}

func (s *spoken) BufferedAmount() uint64               { return 0 }
func (s *spoken) SetBufferedAmountLowThreshold(uint64) {}
func (s *spoken) OnBufferedAmountLow(func())           {}

// What somebody has typed stays in no buffer once it was taken over: not behind a shorter message, not where a larger
// one did not fit, not while the channel is quiet.
func TestTypedInputStaysInNoBuffer(t *testing.T) {
	const mark = 'M'
	long := string(bytes.Repeat([]byte{mark}, 5<<10))
	s := &spoken{messages: []string{"MMMMMM", "x", long, "y", "MMM"}}
	c := newChannel(nil, PaneLabelStart+"p1", s)
	for _, want := range []string{"MMMMMM", "x", long, "y", "MMM"} {
		before := c.in
		p, err := c.Read()
		if err != nil || string(p) != want {
			t.Fatalf("read %d bytes, %v", len(p), err)
		}
		if &before[0] != &c.in[0] && bytes.IndexByte(before, mark) >= 0 {
			t.Error("a smaller buffer holds the beginning of a message")
		}
		if bytes.IndexByte(c.in[len(p):], mark) >= 0 {
			t.Errorf("behind %q lies what was typed before", want)
		}
	}
	if _, err := c.Read(); err != io.EOF {
		t.Fatal(err)
	}
	if bytes.IndexByte(c.in, mark) >= 0 {
		t.Error("after the last message its text is there")
	}
}

// Nor does what is refused.
func TestRefusedInputStaysInNoBuffer(t *testing.T) {
	for name, s := range map[string]*spoken{
		"too long":     {messages: []string{string(bytes.Repeat([]byte("M"), ReceiveMax+1))}},
		"another kind": {messages: []string{"MMM"}, text: true},
	} {
		c := newChannel(nil, PaneLabelStart+"p1", s)
		if _, err := c.Read(); err == nil {
			t.Fatalf("%s is accepted", name)
		}
		if bytes.IndexByte(c.in, 'M') >= 0 {
			t.Errorf("%s: its text is there", name)
		}
	}
}
