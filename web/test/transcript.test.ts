// SPDX-License-Identifier: Apache-2.0
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { fromB64, fromB64Exact, toB64 } from '../src/wire/b64';
import {
  answerText,
  codeId,
  offerText,
  pairDeviceText,
  pairHostText,
} from '../src/wire/transcript';

const text = new TextDecoder();
const sha = (s: string) => createHash('sha256').update(s).digest('base64url');

describe('base64url', () => {
  test('has one spelling, without padding', () => {
    expect(toB64(Uint8Array.of(0xfb, 0xff, 0xfe))).toBe('-__-');
    expect(toB64(Uint8Array.of(1))).toBe('AQ');
    expect([...fromB64('-__-')]).toEqual([0xfb, 0xff, 0xfe]);
  });

  test.each(['AR', 'AQ==', 'A+==', 'AQAB', ''])('refuses %j as one exact byte', (bad) => {
    expect(() => fromB64Exact(bad, 1)).toThrow();
  });

  test('survives every length and long input', () => {
    for (const length of [0, 1, 2, 3, 4, 8191, 8192, 8193, 20_000]) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 31) & 0xff);
      expect(Buffer.compare(fromB64Exact(toB64(bytes), length), bytes)).toBe(0);
    }
  });
});

describe('transcripts', () => {
  test('pairing: the exact lines', () => {
    const device = { nonce: 'N', hostKey: 'H', deviceKey: 'D', name: 'Chromium on Linux' };
    expect(text.decode(pairDeviceText(device))).toBe(
      'spawn.pair.device.v1\nN\nH\nD\nChromium on Linux',
    );
    const host = { nonce: 'N', hostKey: 'H', deviceKey: 'D', device: 'd_00' };
    expect(text.decode(pairHostText(host))).toBe('spawn.pair.host.v1\nN\nH\nD\nd_00');
  });

  test('offer and answer: the exact lines', async () => {
    const offer = {
      hostKey: 'H',
      nonce: 'N',
      clientNonce: 'C',
      device: 'd_00',
      offerSdp: 'v=0\r\n',
    };
    expect(text.decode(await offerText(offer))).toBe(
      `spawn.offer.v1\nH\nN\nC\nd_00\n${sha('v=0\r\n')}`,
    );
    const answer = { ...offer, answerSdp: 'v=0\r\na' };
    expect(text.decode(await answerText(answer))).toBe(
      `spawn.answer.v1\nH\nN\nC\nd_00\n${sha('v=0\r\n')}\n${sha('v=0\r\na')}`,
    );
  });

  test('a code is named by 8 bytes of its hash', async () => {
    const code = Uint8Array.from({ length: 16 }, (_, i) => i);
    const want = createHash('sha256').update(code).digest().subarray(0, 8).toString('base64url');
    expect(await codeId(code)).toBe(want);
  });
});
