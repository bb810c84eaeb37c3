// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from 'vitest';
import { agoText, untilText } from '../src/app/times';
import { exchange } from '../src/link/handshake';
import type { Signalling } from '../src/link/signalling';
import {
  openShareLink,
  readShareLink,
  type ShareLink,
  type Visit,
  Visitor,
  visitorParty,
} from '../src/link/visitor';
import { type Bytes, fromB64, toB64 } from '../src/wire/b64';
import type { ToHost } from '../src/wire/signal';
import { visitText, welcomeText } from '../src/wire/transcript';

const nonce = toB64(new Uint8Array(32).fill(7));
const token = Uint8Array.from({ length: 32 }, (_, i) => i);
const signal = new AbortController().signal;
const sdp = (byte: string) =>
  `v=0\r\na=fingerprint:sha-256 ${Array.from({ length: 32 }, () => byte).join(':')}\r\n`;

// What spawnd makes of the same token; its own tests hold it to the same words.
const name = 'U4SzxdMGyghiSXjvlvg47g';
const publicKey = '0DQXy47K0hhCVdGqMavQ5W1elMHA8Dz2RggnUt6AawQ';

/** The host that the link names. It checks what comes, and answers; `lie` changes its answer. */
class Host {
  readonly sent: ToHost[] = [];
  lie: { signer?: CryptoKey; sdp?: string; text?: Bytes } = {};
  constructor(
    readonly key: CryptoKey,
    readonly hostKey: string,
  ) {}

  static async make(): Promise<Host> {
    const pair = (await crypto.subtle.generateKey('Ed25519', false, ['sign'])) as CryptoKeyPair;
    const raw = await crypto.subtle.exportKey('raw', pair.publicKey);
    return new Host(pair.privateKey, toB64(new Uint8Array(raw)));
  }

  get link(): ShareLink {
    return { token, hostKey: this.hostKey };
  }

  get challenge() {
    return { nonce, hostKey: this.hostKey };
  }

  get signalling(): Signalling {
    return {
      send: (message: ToHost) => this.sent.push(message),
      next: () => this.#answer(),
    } as unknown as Signalling;
  }

  async #answer(): Promise<unknown> {
    const m = this.sent[0] as Extract<ToHost, { type: 'visit' }>;
    expect(m).toMatchObject({ type: 'visit', link: name });
    const of = {
      hostKey: this.hostKey,
      nonce,
      clientNonce: m.client_nonce,
      link: m.link,
      offerSdp: m.sdp,
    };
    const raw = fromB64(publicKey);
    const key = await crypto.subtle.importKey('raw', raw, 'Ed25519', false, ['verify']);
    const good = await crypto.subtle.verify('Ed25519', key, fromB64(m.sig), await visitText(of));
    expect(good).toBe(true);
    const text = this.lie.text ?? (await welcomeText({ ...of, answerSdp: sdp('CD') }));
    const sig = await crypto.subtle.sign('Ed25519', this.lie.signer ?? this.key, text);
    return { type: 'answer', sdp: this.lie.sdp ?? sdp('CD'), sig: toB64(new Uint8Array(sig)) };
  }
}

async function met(): Promise<{ host: Host; visit: Visit }> {
  const host = await Host.make();
  return { host, visit: await openShareLink(host.link, 5) };
}

describe('a share link', () => {
  const hostKey = toB64(new Uint8Array(32).fill(3));
  const good = `http://127.0.0.1:7717/#share=${toB64(token)}.${hostKey}`;

  test('is read from an address and from its fragment', () => {
    expect(readShareLink(good)).toEqual({ token, hostKey });
    expect(readShareLink(` ${new URL(good).hash}\n`)).toEqual({ token, hostKey });
  });

  test.each([
    '',
    '#pair=AAAAAAAAAAAAAAAAAAAAAA',
    good.slice(0, -1),
    `${good}A`,
    good.replace(`.${hostKey}`, hostKey),
    good.replace('#share=', '#share=A'),
    good.replace('#', '?'),
    `${good.slice(0, -1)}B`,
    `${good}&x`,
  ])('is not %j', (bad) => {
    expect(readShareLink(bad)).toBeNull();
  });

  test('becomes a name and a key that signs and cannot be read out', async () => {
    const { visit } = await met();
    expect(visit.link).toBe(name);
    expect(visit.at).toBe(5);
    expect(visit.key.usages).toEqual(['sign']);
    await expect(crypto.subtle.exportKey('pkcs8', visit.key)).rejects.toThrow();
    await expect(crypto.subtle.exportKey('jwk', visit.key)).rejects.toThrow();
  });
});

describe('a visit', () => {
  test('is signed for this connection, and never sends the token', async () => {
    const { host, visit } = await met();
    const party = visitorParty(visit);
    const got = await exchange(host.signalling, host.challenge, party, sdp('AB'), signal);
    expect(got).toBe(sdp('CD'));
    expect(JSON.stringify(host.sent)).not.toContain(toB64(token));
  });

  test.each([
    ['another key', async () => ({ signer: (await Host.make()).key })],
    ['another fingerprint under the signature', async () => ({ sdp: sdp('EF') })],
    ['another text', async () => ({ text: new TextEncoder().encode('spawn.welcome.v1\nforged') })],
  ])('takes no answer with %s', async (_, lie) => {
    const { host, visit } = await met();
    host.lie = await lie();
    await expect(
      exchange(host.signalling, host.challenge, visitorParty(visit), sdp('AB'), signal),
    ).rejects.toMatchObject({ failure: 'identity_changed', final: true });
  });

  test('sends nothing to a host that shows another key than the link names', async () => {
    const { visit } = await met();
    const other = await Host.make();
    await expect(new Visitor(Promise.resolve(visit)).party(other.challenge)).rejects.toMatchObject({
      failure: 'identity_changed',
    });
    expect(other.sent).toEqual([]);
  });

  test('whose key is not kept any more has ended', async () => {
    const { host } = await met();
    await expect(new Visitor(Promise.resolve(null)).party(host.challenge)).rejects.toMatchObject({
      failure: 'share_ended',
      final: true,
    });
  });
});

describe('moments in words', () => {
  const now = new Date(2026, 10, 30, 12, 0).getTime();
  const minutes = (n: number) => now + n * 60_000;

  test('until when: the day is said unless it is today', () => {
    expect(untilText(minutes(90), now, 'en-GB')).toBe('13:30');
    expect(untilText(minutes(24 * 60), now, 'en-GB')).toBe('Tue 1 Dec, 12:00');
  });

  test.each([
    [0, 'never'],
    [minutes(-0.5), 'just now'],
    [minutes(0.5), 'just now'],
    [minutes(-59), '59 minutes ago'],
    [minutes(-72 * 60), '3 days ago'],
  ])('how long ago: %d', (at, want) => {
    expect(agoText(at, now)).toBe(want);
  });
});
