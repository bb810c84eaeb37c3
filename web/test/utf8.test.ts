// SPDX-License-Identifier: Apache-2.0
import unicode11 from '@xterm/addon-unicode11';
import headless from '@xterm/headless';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { concat } from '../src/term/bytes';
import { bufferText } from '../src/term/rows';
import { screenOptions, useUnicode11 } from '../src/term/setup';
import {
  decodedBytesMax,
  openTail,
  WholeCharacters,
  wholePieces,
  writeWhole,
} from '../src/term/utf8';

const { Terminal } = headless;
const { Unicode11Addon } = unicode11;
const encode = (text: string) => new TextEncoder().encode(text);

function terminal(rows = 8) {
  const term = new Terminal({ ...screenOptions, cols: 40, rows, logLevel: 'off' });
  useUnicode11(term as never, new Unicode11Addon());
  const write = (bytes: Uint8Array) =>
    new Promise<void>((resolve) => term.write(bytes, () => resolve()));
  const shown = () => ({
    text: bufferText(term.buffer.active as never, rows),
    x: term.buffer.active.cursorX,
    y: term.buffer.active.cursorY,
  });
  return { term, write, shown };
}

/** Cuts `bytes` at `points`, each a part of 1000 of its length. */
function cut(bytes: Uint8Array, points: number[]): Uint8Array[] {
  const at = [0, ...points.map((p) => Math.floor((p * bytes.length) / 1000)), bytes.length];
  at.sort((a, b) => a - b);
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end));
}

const run = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }).map(encode),
  fc.constantFrom('—', '…', '“”', '退', '😀', '\u{10000}', '\u0080', '\ufeff').map(encode),
  fc.uint8Array({ maxLength: 6 }),
  // Lead bytes of every kind with too few, too many and forbidden continuations.
  fc
    .tuple(
      fc.constantFrom(0xc0, 0xc2, 0xdf, 0xe0, 0xe2, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xf7, 0xf8, 0xff),
      fc.array(fc.constantFrom(0x80, 0x8f, 0x90, 0x94, 0xa0, 0xbf), { maxLength: 4 }),
    )
    .map(([lead, rest]) => Uint8Array.of(lead, ...rest)),
);
const bytesOf = fc.array(run, { minLength: 1, maxLength: 20 }).map(concat);

describe('a stream that is cut anywhere', () => {
  test('gives what one write gives', async () => {
    const points = fc.array(fc.integer({ min: 0, max: 1000 }), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(bytesOf, points, async (bytes, at) => {
        const [one, many] = [terminal(), terminal()];
        await one.write(bytes);
        const whole = new WholeCharacters();
        for (const piece of cut(bytes, at)) await many.write(whole.next(piece));
        // What is held is what the decoder itself waits with: the next byte ends it for both.
        await one.write(encode('|'));
        await many.write(whole.next(encode('|')));
        expect(many.shown()).toEqual(one.shown());
      }),
      { numRuns: 100 },
    );
  }, 60_000);

  test('loses an em dash without this', async () => {
    const { write, shown } = terminal();
    await write(Uint8Array.of(0xe2, 0x80));
    await write(Uint8Array.of(0x94));
    expect(shown().text.trim()).not.toBe('—');
  });

  test('holds at most three bytes, and no whole character', () => {
    fc.assert(
      fc.property(bytesOf, (bytes) => {
        const now = new WholeCharacters().next(bytes);
        const held = bytes.subarray(now.length);
        expect(held.length).toBeLessThanOrEqual(3);
        expect(new TextDecoder().decode(held, { stream: true }).replaceAll('\ufffd', '')).toBe('');
      }),
    );
  });

  test.each([
    ['', 0],
    ['41', 0],
    ['c3', 1],
    ['c3a4', 0],
    ['e2', 1],
    ['e280', 2],
    ['e28094', 0],
    ['f0', 1],
    ['f09f', 2],
    ['f09f98', 3],
    ['f09f9880', 0],
    ['80808080', 0],
    ['f8', 0],
    ['e280c3', 1],
  ])('%s has an open tail of %i', (hex, open) => {
    expect(openTail(Uint8Array.from(Buffer.from(hex, 'hex')))).toBe(open);
  });

  test('another stream does not get the tail of the one before', () => {
    const whole = new WholeCharacters();
    expect(whole.next(Uint8Array.of(0x61, 0xe2, 0x80))).toEqual(encode('a'));
    whole.reset();
    expect(whole.next(encode('b'))).toEqual(encode('b'));
  });

  test('a write of which all is held still reports that it is parsed', async () => {
    const { term } = terminal();
    const held = new WholeCharacters().next(Uint8Array.of(0xe2));
    expect(held).toHaveLength(0);
    await new Promise<void>((resolve) => writeWhole(term, held, resolve));
  });
});

describe('a write longer than what is decoded at once', () => {
  test.each([1, 2, 3, 4])('keeps the em dash %i bytes before the cut', async (before) => {
    const dash = encode('—');
    const long = (parts: number) => {
      const bytes = new Uint8Array(parts * decodedBytesMax + 8).fill(0x0d);
      for (let n = 1; n <= parts; n++) bytes.set(dash, n * decodedBytesMax - before);
      return bytes;
    };
    const { term, shown } = terminal();
    const bytes = long(1);
    await new Promise<void>((resolve) => writeWhole(term, bytes, resolve));
    expect(shown().text.trim()).toBe('—');
    const pieces = wholePieces(long(3));
    expect(Buffer.compare(concat(pieces), long(3))).toBe(0);
    if (before > 2) expect(pieces).toHaveLength(1);
  });

  test('is still one write when it may be', () => {
    const writes: number[] = [];
    const term = { write: (bytes: Uint8Array) => writes.push(bytes.length) };
    writeWhole(term, encode('a'.repeat(3 * decodedBytesMax)), () => {});
    expect(writes).toEqual([3 * decodedBytesMax]);
  });
});
