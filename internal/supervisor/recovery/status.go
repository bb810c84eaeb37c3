// SPDX-License-Identifier: Apache-2.0

package recovery

// Status is what a listing says of one checkpoint file.
type Status string

const (
	StatusValid        Status = "valid"
	StatusCorrupt      Status = "corrupt"      // damaged, or its generation is another's too
	StatusIncompatible Status = "incompatible" // of a format that this reader does not know
	StatusExpired      Status = "expired"
	StatusUnsafe       Status = "unsafe" // no regular file of ours alone, or unreadable; never opened further
	StatusFuture       Status = "future" // captured later than the clock says it is
)
