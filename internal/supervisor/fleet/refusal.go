// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"

	"spawn/internal/sessiond/endpoint"
)

// Code says in one word why a terminal was not adopted. The words are shown and may be matched on.
type Code string

const (
	CodeEnded        Code = "ended"         // nobody holds it; what it left was removed
	CodeUnswept      Code = "unswept"       // nobody holds it, and what it left could not be removed
	CodeUnreadable   Code = "unreadable"    // its reservation could not be looked at
	CodeNotListening Code = "not_listening" // it lives and does not listen
	CodeForeign      Code = "foreign"       // another user answers on its socket
	CodeUnreachable  Code = "unreachable"   // it lives and cannot be dialled
	CodeSilent       Code = "silent"        // it lives and said nothing in time
	CodeGarbled      Code = "garbled"       // it said something that is no greeting
	CodeVersion      Code = "version_skew"  // it speaks another protocol version
	CodeSession      Code = "wrong_session" // it says that it is another session
	CodeUnstarted    Code = "unstarted"     // it was never started; it was told to end
)

// Refusal is why a terminal was not adopted.
type Refusal struct {
	ID   endpoint.SessionID
	Code Code
	Err  error // what was seen; nil where the code says it all
}

func (r *Refusal) Error() string {
	if r.Err == nil {
		return fmt.Sprintf("adopt terminal %s: %s", r.ID, r.Code)
	}
	return fmt.Sprintf("adopt terminal %s: %s: %v", r.ID, r.Code, r.Err)
}

func (r *Refusal) Unwrap() error { return r.Err }

// Held reports whether a worker may still live behind the refusal, so that its pane must not be called
// lost.
func (r *Refusal) Held() bool {
	return r.Code != CodeEnded && r.Code != CodeUnswept && r.Code != CodeUnstarted
}
