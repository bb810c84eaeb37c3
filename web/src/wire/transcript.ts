// SPDX-License-Identifier: Apache-2.0

// The exact texts that page and host sign or authenticate. Each begins with
// its own name and version, so no signature fits a second purpose.

import type { Bytes } from './b64';
import { toB64 } from './b64';

const utf8 = new TextEncoder();

export interface PairDevice {
  nonce: string;
  hostKey: string;
  deviceKey: string;
  name: string;
}

export interface PairHost {
  nonce: string;
  hostKey: string;
  deviceKey: string;
  device: string;
}

export interface Offer {
  hostKey: string;
  nonce: string;
  clientNonce: string;
  device: string;
  offerSdp: string;
}

export interface Answer extends Offer {
  answerSdp: string;
}

export interface Visit {
  hostKey: string;
  nonce: string;
  clientNonce: string;
  /** The link's name. */
  link: string;
  offerSdp: string;
}

export interface Welcome extends Visit {
  answerSdp: string;
}

/** What the browser authenticates with the pairing code. */
export function pairDeviceText(p: PairDevice): Bytes {
  return lines('spawn.pair.device.v1', p.nonce, p.hostKey, p.deviceKey, p.name);
}

/** What the host authenticates with the same code. */
export function pairHostText(p: PairHost): Bytes {
  return lines('spawn.pair.host.v1', p.nonce, p.hostKey, p.deviceKey, p.device);
}

/** What the browser's key signs about its offer. */
export async function offerText(o: Offer): Promise<Bytes> {
  const offer = await sha256(utf8.encode(o.offerSdp));
  return lines('spawn.offer.v1', o.hostKey, o.nonce, o.clientNonce, o.device, offer);
}

/** What the host's key signs about its answer, and with it about the offer. */
export async function answerText(a: Answer): Promise<Bytes> {
  const offer = await sha256(utf8.encode(a.offerSdp));
  const answer = await sha256(utf8.encode(a.answerSdp));
  return lines('spawn.answer.v1', a.hostKey, a.nonce, a.clientNonce, a.device, offer, answer);
}

/** What the key of a share link signs about a visitor's offer. */
export async function visitText(v: Visit): Promise<Bytes> {
  const offer = await sha256(utf8.encode(v.offerSdp));
  return lines('spawn.visit.v1', v.hostKey, v.nonce, v.clientNonce, v.link, offer);
}

/** What the host's key signs in answer to a visitor. */
export async function welcomeText(w: Welcome): Promise<Bytes> {
  const offer = await sha256(utf8.encode(w.offerSdp));
  const answer = await sha256(utf8.encode(w.answerSdp));
  return lines('spawn.welcome.v1', w.hostKey, w.nonce, w.clientNonce, w.link, offer, answer);
}

/** The public name of a pairing code: the first 8 bytes of its SHA-256. */
export async function codeId(code: Bytes): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', code);
  return toB64(new Uint8Array(digest, 0, 8));
}

async function sha256(bytes: Bytes): Promise<string> {
  return toB64(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}

function lines(...parts: string[]): Bytes {
  return utf8.encode(parts.join('\n'));
}
