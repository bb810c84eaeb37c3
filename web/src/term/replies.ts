// SPDX-License-Identifier: Apache-2.0

// The worker alone answers terminal queries. xterm.js would answer them too,
// so every query it knows is taken from its parser before it can.

import type { IDisposable, IParser } from '@xterm/xterm';

const swallowedCsi = [
  { final: 'c' }, // DA1
  { prefix: '>', final: 'c' }, // DA2
  { prefix: '=', final: 'c' }, // DA3
  { final: 'n' }, // DSR 5, CPR
  { prefix: '?', final: 'n' }, // DECXCPR and its kin
  { intermediates: '$', final: 'p' }, // DECRQM, ANSI
  { prefix: '?', intermediates: '$', final: 'p' }, // DECRQM, private
  { prefix: '>', final: 'q' }, // XTVERSION
] as const;

/** Window operations that report; the others pass (xterm.js ignores them by default). */
const reportingWindowOps = new Set([11, 13, 14, 15, 16, 18, 19, 20, 21]);

const colourOscs = [4, 10, 11, 12];

export interface ReplyGuard extends IDisposable {
  /** True while the parser is inside a sequence that mixes colour changes with queries. */
  readonly mixed: boolean;
  /** To be called when a write has been parsed. */
  parsed(): void;
}

/** Takes the queries from `parser`. Works in the page and in the headless build. */
export function swallowQueries(parser: IParser, onClipboard: () => void = () => {}): ReplyGuard {
  let mixed = false;
  const taken: IDisposable[] = swallowedCsi.map((id) => parser.registerCsiHandler(id, () => true));
  taken.push(
    parser.registerCsiHandler({ final: 't' }, (p) => reportingWindowOps.has(Number(p[0]))),
  );
  taken.push(parser.registerDcsHandler({ intermediates: '$', final: 'q' }, () => true));
  taken.push(parser.registerDcsHandler({ intermediates: '+', final: 'q' }, () => true));
  for (const code of colourOscs) {
    taken.push(
      parser.registerOscHandler(code, (payload) => {
        const kind = colourQuery(code, payload);
        if (kind === 'mixed') mixed = true;
        return kind === 'query';
      }),
    );
  }
  // A program may not set or read the clipboard of whoever looks at it.
  taken.push(
    parser.registerOscHandler(52, () => {
      onClipboard();
      return true;
    }),
  );
  return {
    get mixed() {
      return mixed;
    },
    parsed: () => {
      mixed = false;
    },
    dispose: () => {
      for (const handler of taken) handler.dispose();
    },
  };
}

/** Whether an OSC 4/10/11/12 payload only asks, only sets, or does both. */
export function colourQuery(code: number, payload: string): 'query' | 'set' | 'mixed' {
  const parts = payload.split(';');
  const specs = code === 4 ? parts.filter((_, i) => i % 2 === 1) : parts;
  const asked = specs.filter((spec) => spec === '?').length;
  if (asked === 0) return 'set';
  return asked === specs.length ? 'query' : 'mixed';
}
