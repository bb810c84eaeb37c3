// SPDX-License-Identifier: Apache-2.0

package signaling

import (
	"errors"
	"fmt"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/access"
)

// Subprotocol names the signalling messages of this version.
const Subprotocol = "spawn.signal.v1"

// proto is the version inside the challenge; it changes with what the transcripts hold.
const proto = 1

type (
	challengeMessage struct {
		Type    string `json:"type"`
		Proto   int    `json:"proto"`
		Nonce   string `json:"nonce"`
		HostKey string `json:"host_key"`
	}
	pairedMessage struct {
		Type     string `json:"type"`
		Device   string `json:"device"`
		HostName string `json:"host_name"`
		MAC      string `json:"mac"`
	}
	answerMessage struct {
		Type string `json:"type"`
		SDP  string `json:"sdp"`
		Sig  string `json:"sig"`
	}
	errorMessage struct {
		Type    string `json:"type"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
)

// inbound is every message of a page in one; which members belong to which type is checked apart, since
// a reader that guesses the type first would have to read the text twice.
type inbound struct {
	Type        string     `json:"type"`
	DeviceKey   string     `json:"device_key"`
	Name        string     `json:"name"`
	CodeID      string     `json:"code_id"`
	MAC         string     `json:"mac"`
	Device      string     `json:"device"`
	Link        string     `json:"link"`
	ClientNonce string     `json:"client_nonce"`
	SDP         string     `json:"sdp"`
	Sig         string     `json:"sig"`
	Candidate   *candidate `json:"candidate"`
}

type candidate struct {
	Candidate        string `json:"candidate"`
	SDPMid           string `json:"sdpMid"`
	SDPMLineIndex    uint16 `json:"sdpMLineIndex"`
	UsernameFragment string `json:"usernameFragment"` // as RTCIceCandidate.toJSON adds; not used
}

// ErrProtocol means that a page did not keep to the protocol; trying again is no use.
var ErrProtocol = errors.New("unexpected message")

func parse(text []byte) (inbound, error) {
	var m inbound
	if err := strictjson.Unmarshal(text, &m); err != nil {
		return inbound{}, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	own := inbound{Type: m.Type}
	switch m.Type {
	case "pair":
		own.DeviceKey, own.Name, own.CodeID, own.MAC = m.DeviceKey, m.Name, m.CodeID, m.MAC
	case "offer":
		own.Device, own.ClientNonce, own.SDP, own.Sig = m.Device, m.ClientNonce, m.SDP, m.Sig
	case "visit":
		own.Link, own.ClientNonce, own.SDP, own.Sig = m.Link, m.ClientNonce, m.SDP, m.Sig
	case "candidate":
		own.Candidate = m.Candidate
		if m.Candidate == nil {
			return inbound{}, ErrProtocol
		}
	default:
		return inbound{}, ErrProtocol
	}
	if own != m {
		return inbound{}, fmt.Errorf("%w: members of another type", ErrProtocol)
	}
	return m, nil
}

func (m inbound) pairRequest() access.PairRequest {
	return access.PairRequest{DeviceKey: m.DeviceKey, Name: m.Name, CodeID: m.CodeID, MAC: m.MAC}
}

func (m inbound) offer() access.Offer {
	return access.Offer{Device: m.Device, ClientNonce: m.ClientNonce, SDP: m.SDP, Signature: m.Sig}
}

func (m inbound) visit() access.Visit {
	return access.Visit{Link: m.Link, ClientNonce: m.ClientNonce, SDP: m.SDP, Signature: m.Sig}
}

// refusal says to a page, in a fixed text of ours, why its socket is closed. What is not the page's fault is
// told as busy, which a page tries again later.
func refusal(err error) errorMessage {
	m := errorMessage{Type: "error", Code: "busy", Message: "too many attempts or connections; try again later"}
	switch {
	case errors.Is(err, access.ErrPairing):
		m.Code, m.Message = "pair.invalid", "this pairing link is used up, expired or wrong"
	case errors.Is(err, access.ErrLink):
		m.Code, m.Message = "share.invalid", "this link has ended, or never was good"
	case errors.Is(err, ErrVisits):
		m.Code, m.Message = "share.full", "as many have this link open as may; try again later"
	case errors.Is(err, access.ErrUnknownDevice):
		m.Code, m.Message = "auth.unknown_device", "this browser is not paired with this host"
	case errors.Is(err, access.ErrSignature), errors.Is(err, access.ErrStale):
		m.Code, m.Message = "auth.signature", "the offer is not signed for this connection"
	case errors.Is(err, access.ErrProtocol), errors.Is(err, ErrProtocol):
		m.Code, m.Message = "protocol", "the message was not understood"
	}
	return m
}
