// SPDX-License-Identifier: Apache-2.0
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Feed, outstandingBytesMax, pendingBytesMax } from '../src/term/feed';
import { History } from '../src/term/history';
import type { SnapshotEvent } from '../src/wire/ctl';

const utf8 = new TextEncoder();
const head = (cols: number, rows: number) =>
  `\x1b[8;${rows};${cols}t\x1b_sp:h1\x1b\\\x1b(B\x1b)B\x1b*B\x1b+B\x0f`;

/** A screen that remembers what it would show: the last repaint and what was written after it. */
class Screen {
  shown = '';
  size = '';
  asked: boolean[] = [];
  dones: (() => void)[] = [];
  auto = true;
  readonly history: History = new History(() => this.feed.heal());
  readonly feed: Feed = new Feed(
    {
      paint: (cols, rows, screen) => {
        this.size = `${cols}x${rows}`;
        this.shown = new TextDecoder('latin1').decode(screen);
      },
      write: (bytes, done) => {
        this.shown += new TextDecoder('latin1').decode(bytes);
        if (this.auto) done();
        else this.dones.push(done);
      },
      requestSnapshot: (full) => this.asked.push(full),
    },
    this.history,
  );

  constructor() {
    this.feed.restart();
  }

  live(text: string): void {
    this.feed.live(utf8.encode(text));
  }

  snapshot(
    screen: string,
    dcOffset: number,
    o: { cols?: number; rows?: number; history?: string; piece?: number } = {},
  ): void {
    const { cols = 80, rows = 24, history } = o;
    const full = history !== undefined;
    const stream = utf8.encode(
      `${full ? head(cols, rows) + history : ''}\x1b[8;${rows};${cols}t${screen}`,
    );
    for (const [piece, data] of pieces(stream, o.piece ?? stream.length, {
      cols,
      rows,
      full,
      unavailable: false,
      watermark: '0',
      dc_offset: dcOffset,
      epoch: '1',
      offset: history?.length ?? 0,
    })) {
      this.feed.snapshot(piece, data);
    }
  }
}

function* pieces(
  stream: Uint8Array,
  size: number,
  meta: Partial<SnapshotEvent>,
): Generator<[SnapshotEvent, Uint8Array]> {
  for (let at = 0, seq = 0; at === 0 || at < stream.length; at += size, seq++) {
    const last = at + size >= stream.length;
    const piece = { event: 'snapshot' as const, pane: 'p0', seq, data: '', last };
    yield [seq === 0 ? { ...piece, ...meta } : piece, stream.subarray(at, at + size)];
  }
}

describe('Feed', () => {
  test('live bytes wait for the first snapshot', () => {
    const s = new Screen();
    s.live('abcdef');
    expect(s.shown).toBe('');
    s.snapshot('[abcd]', 4, { history: 'h' });
    expect(s.shown).toBe('[abcd]ef');
    expect(s.asked).toEqual([]);
  });

  test('covered bytes that come after the snapshot are dropped, even in the middle of a message', () => {
    const s = new Screen();
    s.live('ab');
    s.snapshot('[abcd]', 4, { history: '' });
    s.live('c');
    s.live('def');
    expect(s.shown).toBe('[abcd]ef');
  });

  test('a snapshot that comes late finds the bytes after its cut', () => {
    const s = new Screen();
    s.snapshot('[]', 0, { history: '' });
    s.live('abcdef');
    expect(s.shown).toBe('[]abcdef');
    s.snapshot('(abcd)', 4, { cols: 100 });
    expect(s.size).toBe('100x24');
    expect(s.shown).toBe('(abcd)ef');
  });

  test('a full one of the same size heals the history and leaves the screen alone', () => {
    const s = new Screen();
    s.snapshot('[]', 0, { history: 'one' });
    s.live('abc');
    s.history.gap();
    expect(s.asked).toEqual([true]);
    s.snapshot('(ab)', 2, { history: 'one two' });
    expect(s.shown).toBe('[]abc');
    expect(new TextDecoder().decode(s.history.text())).toBe('one two');
  });

  test('holes ask for one snapshot until it is there', () => {
    const s = new Screen();
    s.history.gap();
    expect(s.asked).toEqual([]);
    s.snapshot('[]', 0, { history: '' });
    s.history.gap();
    s.history.gap();
    s.feed.gap();
    expect(s.asked).toEqual([true]);
  });

  test('pieces in order make one snapshot; a missing one asks again', () => {
    const s = new Screen();
    s.snapshot('[abcdefgh]', 0, { history: 'line\r\n', piece: 7 });
    expect(s.shown).toBe('[abcdefgh]');
    const [first, , third] = [
      ...pieces(utf8.encode('\x1b[8;24;80tabcdefghij'), 8, {
        cols: 80,
        rows: 24,
        full: false,
        dc_offset: 0,
      }),
    ];
    s.feed.snapshot(...(first as [SnapshotEvent, Uint8Array]));
    s.feed.snapshot(...(third as [SnapshotEvent, Uint8Array]));
    expect(s.asked).toEqual([false]);
  });

  test('a screen that cannot keep up gets a fresh one, not everything', () => {
    const s = new Screen();
    s.snapshot('[]', 0, { history: '' });
    s.auto = false;
    const flood = 'x'.repeat(64 << 10);
    let sent = 0;
    for (; sent < pendingBytesMax * 2; sent += flood.length) s.live(flood);
    expect(s.shown.length).toBeLessThanOrEqual(outstandingBytesMax + flood.length);
    expect(s.asked).toEqual([false]);
    s.snapshot('(now)', sent);
    s.live('!');
    s.auto = true;
    for (const done of s.dones.splice(0)) done();
    expect(s.shown).toBe('(now)!');
  });

  test('a snapshot older than what was kept is not painted over a gap', () => {
    const s = new Screen();
    s.live('y'.repeat(pendingBytesMax + 1));
    s.snapshot('[old]', 10, { history: 'h' });
    expect(s.shown).toBe('');
    expect(s.asked).toEqual([false]);
    expect(new TextDecoder().decode(s.history.text())).toBe('h');
  });

  test('callbacks of an earlier channel do not count for the next', () => {
    const s = new Screen();
    s.snapshot('[]', 0, { history: '' });
    s.auto = false;
    s.live('a'.repeat(outstandingBytesMax));
    s.feed.restart();
    s.snapshot('{}', 0, { history: '' });
    s.live('b');
    for (const done of s.dones.splice(0)) done();
    expect(s.shown).toBe('{}b');
  });

  test('no log: the history is unavailable, and the screen is asked for by itself', () => {
    const s = new Screen();
    s.feed.snapshot(
      {
        event: 'snapshot',
        pane: 'p0',
        seq: 0,
        data: '',
        last: true,
        cols: 80,
        rows: 24,
        full: true,
        unavailable: true,
        watermark: '9',
        dc_offset: 0,
        epoch: '0',
        offset: 0,
      },
      new Uint8Array(0),
    );
    expect(s.history.unavailable).toBe(true);
    expect(s.asked).toEqual([false]);
  });
});

// The worker's stream is a known text; a snapshot at position p paints the text
// up to p. However both streams interleave, the screen ends as the whole text.
test('every interleaving of live bytes and snapshots ends exact', () => {
  const move = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ do: fc.constant('live' as const), n: fc.integer({ min: 1, max: 9 }) }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('cut' as const), n: fc.constant(0) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('land' as const), n: fc.constant(0) }) },
  );
  fc.assert(
    fc.property(
      fc.array(move, { maxLength: 80 }),
      fc.array(fc.nat(6), { maxLength: 80 }),
      (moves, arrivals) => {
        const s = new Screen();
        let stream = '';
        const channel: string[] = [];
        const cuts: number[] = [0];
        const arrive = (n: number) => {
          for (const bytes of channel.splice(0, n)) s.live(bytes);
        };
        let first = true;
        const land = () => {
          const cut = cuts.shift();
          if (cut === undefined) return;
          s.snapshot(stream.slice(0, cut), cut, {
            cols: 80 + (cut % 2),
            ...(first ? { history: '' } : {}),
            piece: 11,
          });
          first = false;
        };
        moves.forEach((m, i) => {
          if (m.do === 'cut') cuts.push(stream.length);
          else if (m.do === 'land') land();
          else {
            const bytes = Array.from({ length: m.n }, (_, k) =>
              String.fromCharCode(97 + ((stream.length + k) % 26)),
            ).join('');
            stream += bytes;
            channel.push(bytes);
          }
          arrive(arrivals[i] ?? 0);
        });
        while (cuts.length > 0) land();
        arrive(channel.length);
        expect(s.shown).toBe(stream);
        expect(s.asked).toEqual([]);
      },
    ),
    { numRuns: 1000 },
  );
});
