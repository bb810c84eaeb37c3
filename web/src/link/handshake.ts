// SPDX-License-Identifier: Apache-2.0

// Who the host is, and who we are: challenge, pairing when a code is at hand,
// then a signed offer against a signed answer.

import { type Bytes, fromB64, fromB64Exact, toB64 } from '../wire/b64';
import { fingerprint } from '../wire/sdp';
import { signalProto } from '../wire/signal';
import { codeId, pairDeviceText, pairHostText } from '../wire/transcript';
import { LinkError } from './errors';
import { newDeviceKey, type Pairing, type PairingStore } from './keys';
import type { Party } from './party';
import type { Signalling } from './signalling';

export const codeLength = 16;

export interface Challenge {
  nonce: string;
  hostKey: string;
}

/** Waits for the challenge and checks its form. */
export async function readChallenge(
  signalling: Signalling,
  signal: AbortSignal,
): Promise<Challenge> {
  const challenge = await signalling.next('challenge', signal);
  if (challenge.proto !== signalProto) throw new LinkError('protocol', 'signalling version');
  try {
    fromB64Exact(challenge.nonce, 32);
    fromB64Exact(challenge.host_key, 32);
  } catch {
    throw new LinkError('no_channel', 'malformed challenge');
  }
  return { nonce: challenge.nonce, hostKey: challenge.host_key };
}

/**
 * Pairs with the one-time code: both sides prove that they know it, over each
 * other's key. Only then is the host's key pinned.
 */
export async function pair(
  signalling: Signalling,
  challenge: Challenge,
  code: Bytes,
  name: string,
  store: PairingStore,
  signal: AbortSignal,
): Promise<Pairing> {
  const keys = await newDeviceKey();
  const deviceKey = toB64(new Uint8Array(await crypto.subtle.exportKey('raw', keys.publicKey)));
  const mac = await crypto.subtle.importKey('raw', code, { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
    'verify',
  ]);
  const { nonce, hostKey } = challenge;
  const proof = await crypto.subtle.sign(
    'HMAC',
    mac,
    pairDeviceText({ nonce, hostKey, deviceKey, name }),
  );
  signalling.send({
    type: 'pair',
    device_key: deviceKey,
    name,
    code_id: await codeId(code),
    mac: toB64(new Uint8Array(proof)),
  });
  const paired = await signalling.next('paired', signal);
  const text = pairHostText({ nonce, hostKey, deviceKey, device: paired.device });
  if (!(await crypto.subtle.verify('HMAC', mac, fromB64(paired.mac), text))) {
    throw new LinkError('identity_changed', 'the host does not know the code');
  }
  const pairing = {
    device: paired.device,
    key: keys.privateKey,
    hostKey,
    hostName: paired.host_name,
  };
  await store.save(pairing);
  return pairing;
}

/** Sends the signed offer; returns the answer once the key that the party knows has vouched for it. */
export async function exchange(
  signalling: Signalling,
  challenge: Challenge,
  party: Party,
  offerSdp: string,
  signal: AbortSignal,
): Promise<string> {
  fingerprint(offerSdp);
  const wish = {
    nonce: challenge.nonce,
    clientNonce: toB64(crypto.getRandomValues(new Uint8Array(32))),
    offerSdp,
  };
  signalling.send(await party.ask(wish));
  const answer = await signalling.next('answer', signal);
  const text = await party.answered({ ...wish, answerSdp: answer.sdp });
  if (!(await isSignedByHost(party.hostKey, answer.sig, text))) {
    throw new LinkError('identity_changed', 'the answer is not signed by the host that we know');
  }
  fingerprint(answer.sdp);
  return answer.sdp;
}

async function isSignedByHost(hostKey: string, sig: string, text: Bytes): Promise<boolean> {
  const key = await importHostKey(fromB64Exact(hostKey, 32));
  try {
    return await crypto.subtle.verify('Ed25519', key, fromB64Exact(sig, 64), text);
  } catch {
    return false;
  }
}

async function importHostKey(raw: Bytes): Promise<CryptoKey> {
  try {
    return await crypto.subtle.importKey('raw', raw, 'Ed25519', false, ['verify']);
  } catch {
    throw new LinkError('unsupported', 'no Ed25519 in this browser');
  }
}
