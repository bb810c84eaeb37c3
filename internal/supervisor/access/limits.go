// SPDX-License-Identifier: Apache-2.0

package access

import "time"

const (
	// ChallengeLife is how long a handshake may take, from the challenge to the end of its answer.
	ChallengeLife = 10 * time.Second
	// CodeLife is how long a printed pairing link is good.
	CodeLife = 10 * time.Minute

	// ShareLifeMax is the longest that a share link is good: a week covers a review or a handover, and
	// what is forgotten closes by itself.
	ShareLifeMax = 7 * 24 * time.Hour

	// linksMax bounds the links that are good at a time. Each is a way in from outside: more than a person can
	// keep in mind is a mistake. The last linksKept are for the owner and paired browsers alone.
	linksMax      = 64
	linksKept     = 16
	linkNameBytes = 16 // 128 bits, of 32: enough that no two links ever share a name

	tokenBytes        = 32 // 256 bits: as hard to find as the hash under which it is kept
	ownerTokenFileMax = 64 // bytes; the file is exactly one line
	grantIDBytes      = 8

	// grantsMax bounds grants and links together, and with them the work of one check and of one end.
	// The last grantsKept places are for the owner and paired browsers alone, so that a program which
	// issues without end cannot keep the user from it.
	grantsMax  = 1024
	grantsKept = 128
	scopesMax  = 16   // of one grant
	auditMax   = 1024 // changes that are remembered; a few hundred bytes each

	// expiryLookMax is how late an expiry can be told of after the host slept, or its clock was set. What
	// has expired is refused at once.
	expiryLookMax = time.Minute

	codesMax   = 8 // living codes; the oldest gives way
	triesMax   = 3 // wrong tries at one code; then it is gone
	devicesMax = 256

	// Wrong tries at codes that do not exist are answered wrongTriesMax times in wrongTriesWindow, and
	// with ErrBusy beyond that. A right code always passes, so strangers cannot keep the owner out.
	wrongTriesMax    = 10
	wrongTriesWindow = time.Minute

	nameRunesMax     = 64  // as kept
	nameSentBytesMax = 256 // as sent

	nonceBytes           = 32
	codeBytes            = 16 // 128 bits
	codeIDBytes          = 8
	macBytes             = 32
	deviceKeyBytes       = 65 // uncompressed P-256 point
	deviceSignatureBytes = 64 // r and s of P-256, 32 bytes each
	deviceIDBytes        = 8

	hostKeyFileMax = 256       // bytes; the file is exactly one line
	devicesFileMax = 256 << 10 // bytes; devicesMax entries are well below

	// lastSeenStep is the grain of Device.LastSeen: fine enough to tell an old browser from a current
	// one, coarse enough that a reconnecting page does not write a file each time.
	lastSeenStep = time.Hour
)
