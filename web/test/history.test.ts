// SPDX-License-Identifier: Apache-2.0
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { History } from '../src/term/history';

const utf8 = new TextEncoder();
const text = (history: History, max?: number) => new TextDecoder().decode(history.text(max));

function seeded(content = 'a\r\n', epoch = 1n, offset = content.length, max?: number) {
  let holes = 0;
  const history = new History(() => holes++, max);
  history.seed(epoch, offset, utf8.encode(content));
  return { history, holes: () => holes };
}

describe('History', () => {
  test('fragments chain by offset', () => {
    const { history, holes } = seeded();
    history.delta(1n, 3, utf8.encode('b'));
    history.delta(1n, 4, utf8.encode('\r\n'));
    expect(text(history)).toBe('a\r\nb\r\n');
    expect(holes()).toBe(0);
  });

  test('bytes that the seed covered are skipped', () => {
    const { history, holes } = seeded('abc');
    history.delta(1n, 0, utf8.encode('ab'));
    history.delta(1n, 1, utf8.encode('bcde'));
    expect(text(history)).toBe('abcde');
    expect(holes()).toBe(0);
  });

  test('a hole asks once, and what follows it is kept for the seed', () => {
    const { history, holes } = seeded();
    history.delta(1n, 5, utf8.encode('c'));
    history.delta(1n, 6, utf8.encode('d'));
    history.gap();
    expect(holes()).toBe(1);
    expect(history.anchor).toBeNull();
    history.seed(1n, 6, utf8.encode('a\r\nbbc'));
    expect(text(history)).toBe('a\r\nbbcd');
    expect(holes()).toBe(1);
  });

  test('another epoch without a wipe is a hole', () => {
    const { history, holes } = seeded();
    history.delta(2n, 0, utf8.encode('x'));
    expect(holes()).toBe(1);
    history.seed(2n, 1, utf8.encode('x'));
    expect(text(history)).toBe('x');
  });

  test('a wipe empties it at once and needs no snapshot', () => {
    const { history, holes } = seeded();
    history.gap();
    history.wipe(2n);
    expect(text(history)).toBe('');
    history.delta(2n, 0, utf8.encode('n'));
    expect(text(history)).toBe('n');
    expect(holes()).toBe(1);
  });

  test('a seed from before the wipe does not bring the erased text back', () => {
    const { history } = seeded();
    history.gap();
    history.wipe(2n);
    history.seed(1n, 9, utf8.encode('a\r\nerased'));
    expect(text(history)).toBe('');
  });

  test('without a log there is nothing, and nothing is asked for', () => {
    const { history, holes } = seeded();
    history.markUnavailable();
    history.gap();
    expect(text(history)).toBe('');
    expect(holes()).toBe(0);
  });

  test('the bound drops the oldest whole lines', () => {
    const { history } = seeded('', 1n, 0, 20);
    let offset = 0;
    for (let i = 0; i < 10; i++) {
      const line = utf8.encode(`line${i}\r\n`);
      history.delta(1n, offset, line);
      offset += line.length;
    }
    expect(text(history)).toBe('line8\r\nline9\r\n');
    expect(history.dropped).toBe(offset - 14);
  });

  test('the newest lines are whole ones', () => {
    const { history } = seeded('aa\r\nbb\r\ncc\r\n');
    expect(text(history, 8)).toBe('bb\r\ncc\r\n');
    expect(text(history, 7)).toBe('cc\r\n');
    expect(text(history, 3)).toBe('');
    expect(text(history, 12)).toBe('aa\r\nbb\r\ncc\r\n');
  });
});

// The worker's log, the host that tells of it, and a page behind a link that
// leaves things out: whatever happens, the page ends equal to the log.
type Step =
  | { do: 'append'; text: string; cuts: number[] }
  | { do: 'wipe' }
  | { do: 'overflow' }
  | { do: 'disconnect' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      text: fc.stringMatching(/^[a-z]{0,12}$/).map((s) => `${s}\r\n`),
      cuts: fc.array(fc.nat(14), { maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'wipe' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'overflow' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'disconnect' as const }) },
);

class Host {
  epoch = 1n;
  log = '';
  queue: ((page: History) => void)[] = [];
  asked = 0;

  append(content: string, cuts: number[]): void {
    const ends = [...cuts.filter((c) => c < content.length), content.length].sort((a, b) => a - b);
    let at = 0;
    for (const end of ends) {
      const [epoch, offset, part] = [
        this.epoch,
        this.log.length + at,
        utf8.encode(content.slice(at, end)),
      ];
      this.queue.push((page) => page.delta(epoch, offset, part));
      at = end;
    }
    this.log += content;
  }

  wipe(): void {
    this.epoch++;
    this.log = '';
    const { epoch } = this;
    this.queue.push((page) => page.wipe(epoch));
  }

  snapshot(): void {
    const [epoch, content] = [this.epoch, this.log];
    this.queue.push((page) => page.seed(epoch, content.length, utf8.encode(content)));
  }

  /** The queue of this viewer was full: what waited for it is left out. */
  overflow(): void {
    if (this.queue.length === 0) return;
    this.queue = [(page) => page.gap()];
    // A snapshot that was dropped with the rest is owed still.
    if (this.asked > 0) this.snapshot();
  }
}

test('any interleaving ends equal to the log', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(step, fc.nat(4)), { maxLength: 60 }), (steps) => {
      const host = new Host();
      const page = new History(() => {
        host.asked++;
        host.snapshot();
      });
      const deliver = (n: number) => {
        for (let i = 0; i < n; i++) host.queue.shift()?.(page);
      };
      host.asked = 1;
      host.snapshot();
      for (const [s, delivered] of steps) {
        if (s.do === 'append') host.append(s.text, s.cuts);
        else if (s.do === 'wipe') host.wipe();
        else if (s.do === 'overflow') host.overflow();
        else {
          page.disconnect();
          host.queue = [];
          host.snapshot();
        }
        deliver(delivered);
      }
      deliver(10_000);
      expect(text(page)).toBe(host.log);
      expect(page.anchor).toEqual({ epoch: host.epoch, offset: host.log.length });
    }),
    { numRuns: 500 },
  );
});
