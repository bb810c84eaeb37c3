// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from 'vitest';
import { exchange, pair, readChallenge } from '../src/link/handshake';
import { newDeviceKey, type Pairing, type PairingStore } from '../src/link/keys';
import { deviceParty } from '../src/link/party';
import type { Signalling } from '../src/link/signalling';
import { type Bytes, fromB64, toB64 } from '../src/wire/b64';
import type { ToHost } from '../src/wire/signal';
import {
  answerText,
  codeId,
  offerText,
  pairDeviceText,
  pairHostText,
} from '../src/wire/transcript';

const sdp = (byte: string) =>
  `v=0\r\na=fingerprint:sha-256 ${Array.from({ length: 32 }, () => byte).join(':')}\r\n`;
const nonce = toB64(new Uint8Array(32).fill(7));
const code = new Uint8Array(16).fill(9);
const signal = new AbortController().signal;

class Store implements PairingStore {
  kept: Pairing | null = null;
  async load(): Promise<Pairing | null> {
    return this.kept;
  }
  async save(pairing: Pairing): Promise<void> {
    this.kept = pairing;
  }
  async forget(): Promise<void> {
    this.kept = null;
  }
}

/** The host's side, with real keys; `lie` changes what it says. */
class Host {
  readonly sent: ToHost[] = [];
  lie: { hostKey?: string; pairMac?: Bytes; signer?: CryptoKey; answerSdp?: string } = {};
  deviceKey: CryptoKey | null = null;
  constructor(
    readonly keys: CryptoKeyPair,
    readonly hostKey: string,
  ) {}

  static async make(): Promise<Host> {
    const keys = (await crypto.subtle.generateKey('Ed25519', false, [
      'sign',
      'verify',
    ])) as CryptoKeyPair;
    return new Host(
      keys,
      toB64(new Uint8Array(await crypto.subtle.exportKey('raw', keys.publicKey))),
    );
  }

  get signalling(): Signalling {
    return {
      send: (message: ToHost) => this.sent.push(message),
      next: (type: string) => this.answer(type),
    } as unknown as Signalling;
  }

  async answer(type: string): Promise<unknown> {
    if (type === 'challenge') return { type, proto: 1, nonce, host_key: this.hostKey };
    const message = this.sent[this.sent.length - 1];
    if (type === 'paired' && message?.type === 'pair') return this.paired(message);
    if (type === 'answer' && message?.type === 'offer') return this.signed(message);
    throw new Error(`no ${type}`);
  }

  async paired(m: Extract<ToHost, { type: 'pair' }>): Promise<unknown> {
    const mac = await crypto.subtle.importKey(
      'raw',
      code,
      { name: 'HMAC', hash: 'SHA-256' },
      false,
      ['sign', 'verify'],
    );
    const of = { nonce, hostKey: this.hostKey, deviceKey: m.device_key };
    expect(m.code_id).toBe(await codeId(code));
    expect(
      await crypto.subtle.verify(
        'HMAC',
        mac,
        fromB64(m.mac),
        pairDeviceText({ ...of, name: m.name }),
      ),
    ).toBe(true);
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
    this.deviceKey = await crypto.subtle.importKey('raw', fromB64(m.device_key), algorithm, false, [
      'verify',
    ]);
    const text = this.lie.pairMac ?? pairHostText({ ...of, device: 'd_1' });
    const proof = await crypto.subtle.sign('HMAC', mac, text);
    return { type: 'paired', device: 'd_1', host_name: 'ember', mac: toB64(new Uint8Array(proof)) };
  }

  async signed(m: Extract<ToHost, { type: 'offer' }>): Promise<unknown> {
    const offer = {
      hostKey: this.hostKey,
      nonce,
      clientNonce: m.client_nonce,
      device: m.device,
      offerSdp: m.sdp,
    };
    const ecdsa = { name: 'ECDSA', hash: 'SHA-256' };
    const key = this.deviceKey as CryptoKey;
    expect(await crypto.subtle.verify(ecdsa, key, fromB64(m.sig), await offerText(offer))).toBe(
      true,
    );
    const text = await answerText({ ...offer, answerSdp: sdp('CD') });
    const sig = await crypto.subtle.sign('Ed25519', this.lie.signer ?? this.keys.privateKey, text);
    return {
      type: 'answer',
      sdp: this.lie.answerSdp ?? sdp('CD'),
      sig: toB64(new Uint8Array(sig)),
    };
  }
}

async function paired(): Promise<{ host: Host; store: Store; pairing: Pairing }> {
  const host = await Host.make();
  const store = new Store();
  const challenge = await readChallenge(host.signalling, signal);
  const pairing = await pair(host.signalling, challenge, code, 'Test', store, signal);
  return { host, store, pairing };
}

describe('pairing', () => {
  test('pins the host and keeps a key that cannot be read out', async () => {
    const { host, store, pairing } = await paired();
    expect(store.kept).toBe(pairing);
    expect(pairing).toMatchObject({ device: 'd_1', hostKey: host.hostKey, hostName: 'ember' });
    await expect(crypto.subtle.exportKey('pkcs8', pairing.key)).rejects.toThrow();
    await expect(crypto.subtle.exportKey('jwk', pairing.key)).rejects.toThrow();
  });

  test('a host that does not know the code is not pinned', async () => {
    const host = await Host.make();
    host.lie.pairMac = new TextEncoder().encode('spawn.pair.host.v1\nforged');
    const store = new Store();
    const attempt = pair(
      host.signalling,
      { nonce, hostKey: host.hostKey },
      code,
      'Test',
      store,
      signal,
    );
    await expect(attempt).rejects.toMatchObject({ failure: 'identity_changed' });
    expect(store.kept).toBeNull();
  });
});

describe('offer and answer', () => {
  test('the answer of the pinned host is taken', async () => {
    const { host, pairing } = await paired();
    expect(
      await exchange(
        host.signalling,
        { nonce, hostKey: host.hostKey },
        deviceParty(pairing),
        sdp('AB'),
        signal,
      ),
    ).toBe(sdp('CD'));
  });

  test('an answer of another key, or another text under the signature, is not', async () => {
    const { host, pairing } = await paired();
    const challenge = { nonce, hostKey: host.hostKey };
    host.lie.answerSdp = sdp('EF');
    await expect(
      exchange(host.signalling, challenge, deviceParty(pairing), sdp('AB'), signal),
    ).rejects.toMatchObject({
      failure: 'identity_changed',
    });
    host.lie = { signer: (await Host.make()).keys.privateKey };
    await expect(
      exchange(host.signalling, challenge, deviceParty(pairing), sdp('AB'), signal),
    ).rejects.toMatchObject({
      failure: 'identity_changed',
    });
  });

  test('an offer with two fingerprints never leaves', async () => {
    const { host, pairing } = await paired();
    const before = host.sent.length;
    const challenge = { nonce, hostKey: host.hostKey };
    await expect(
      exchange(host.signalling, challenge, deviceParty(pairing), sdp('AB') + sdp('CD'), signal),
    ).rejects.toThrow();
    expect(host.sent).toHaveLength(before);
  });
});

test('a device key is made for signing alone', async () => {
  const keys = await newDeviceKey();
  expect(keys.privateKey.extractable).toBe(false);
  expect(keys.privateKey.usages).toEqual(['sign']);
});
