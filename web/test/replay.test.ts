// SPDX-License-Identifier: Apache-2.0
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { splitReplay } from '../src/term/replay';

const utf8 = new TextEncoder();
const text = (bytes: Uint8Array | null | undefined) => bytes && new TextDecoder().decode(bytes);
const head = (cols: number, rows: number) =>
  `\x1b[8;${rows};${cols}t\x1b_sp:h1\x1b\\\x1b(B\x1b)B\x1b*B\x1b+B\x0f`;

describe('splitReplay', () => {
  test('full: history and screen', () => {
    const got = splitReplay(utf8.encode(`${head(80, 24)}one\r\ntwo\r\n\x1b[8;24;80t\x1b[Hscreen`));
    expect(got).toMatchObject({ cols: 80, rows: 24 });
    expect(text(got?.history)).toBe('one\r\ntwo\r\n');
    expect(text(got?.screen)).toBe('\x1b[Hscreen');
  });

  test('full with no line committed yet has a history, an empty one', () => {
    const got = splitReplay(utf8.encode(`${head(80, 24)}\x1b[8;24;80t`));
    expect(got?.history?.length).toBe(0);
    expect(got?.screen.length).toBe(0);
  });

  test('screen alone has none', () => {
    const got = splitReplay(utf8.encode('\x1b[8;50;120tabc'));
    expect(got).toMatchObject({ cols: 120, rows: 50, history: null });
    expect(text(got?.screen)).toBe('abc');
  });

  test('the geometry of the last marker counts', () => {
    expect(splitReplay(utf8.encode(`${head(80, 24)}x\r\n\x1b[8;30;100ty`))).toMatchObject({
      cols: 100,
      rows: 30,
    });
  });

  test.each([
    '',
    'abc',
    '\x1b[8;24t',
    '\x1b[8;24;80',
    '\x1b[8;0;80t',
    '\x1b[8;99999;80t',
    '\x1b[9;24;80t',
  ])('no marker in %j', (stream) => {
    expect(splitReplay(utf8.encode(stream))).toBeNull();
  });

  test('any history and screen come back as they were', () => {
    const plain = fc
      .uint8Array({ maxLength: 300 })
      .filter((b) => !b.includes(0x74) || !b.includes(0x38));
    fc.assert(
      fc.property(
        plain,
        plain,
        fc.integer({ min: 1, max: 1000 }),
        fc.integer({ min: 1, max: 1000 }),
        (h, s, c, r) => {
          const stream = Buffer.concat([
            utf8.encode(head(c, r)),
            h,
            utf8.encode(`\x1b[8;${r};${c}t`),
            s,
          ]);
          const got = splitReplay(stream);
          expect(got).toMatchObject({ cols: c, rows: r });
          expect(Buffer.compare(got?.history as Uint8Array, h)).toBe(0);
          expect(Buffer.compare(got?.screen as Uint8Array, s)).toBe(0);
        },
      ),
    );
  });
});
