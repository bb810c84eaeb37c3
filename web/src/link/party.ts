// SPDX-License-Identifier: Apache-2.0

// Who asks to come in. A paired browser and a visitor are two; what each signs
// binds the same things: the host's key, both nonces, who asks, and the offer.

import { type Bytes, toB64 } from '../wire/b64';
import type { ToHost } from '../wire/signal';
import { answerText, offerText } from '../wire/transcript';
import type { Challenge } from './handshake';
import type { Pairing } from './keys';
import type { Signalling } from './signalling';

/** What is offered on one connection. */
export interface Wish {
  nonce: string;
  clientNonce: string;
  offerSdp: string;
}

export interface Party {
  /** The only key that an answer may be signed with. */
  readonly hostKey: string;
  /** The wish as it is sent, signed. */
  ask(wish: Wish): Promise<ToHost>;
  /** What the host has to sign in answer. */
  answered(wish: Wish & { answerSdp: string }): Promise<Bytes>;
}

/** Finds out who this page is to the host that shows a challenge. */
export interface Identity {
  party(challenge: Challenge, signalling: Signalling, signal: AbortSignal): Promise<Party>;
  /** The host has refused the party: whether another try at once makes sense. */
  refused(error: unknown): Promise<boolean>;
}

const ecdsa = { name: 'ECDSA', hash: 'SHA-256' } as const;

/** A paired browser. */
export function deviceParty({ hostKey, device, key }: Pairing): Party {
  return {
    hostKey,
    async ask(wish) {
      const text = await offerText({ ...wish, hostKey, device });
      const sig = await crypto.subtle.sign(ecdsa, key, text);
      return { type: 'offer', device, ...sent(wish, sig) };
    },
    answered: (wish) => answerText({ ...wish, hostKey, device }),
  };
}

/** What every kind of offer has. */
export function sent(wish: Wish, sig: ArrayBuffer) {
  return { client_nonce: wish.clientNonce, sdp: wish.offerSdp, sig: toB64(new Uint8Array(sig)) };
}
