// SPDX-License-Identifier: Apache-2.0

package verbs

import "testing"

// Whoever asks for the end hears that it was understood, and the end comes though they have left.
func TestTheAnswerIsOutBeforeTheEnd(t *testing.T) {
	for _, stays := range []bool{true, false} {
		r := run(t, nil)
		p := r.dial()
		begun := make(chan struct{})
		r.server.end = func() {
			r.stop() // as spawnd does: every connection is closed
			close(begun)
		}
		p.say(`{"id":1,"verb":"server.shutdown","params":{"sessions":"keep"}}` + "\n")
		if stays {
			if got := p.hear(); got != `{"id":1,"ok":{}}` {
				t.Error(got)
			}
			if _, err := p.r.ReadByte(); err == nil {
				t.Error("the connection goes on")
			}
		} else if err := p.u.Close(); err != nil {
			t.Fatal(err)
		}
		<-begun
	}
}
