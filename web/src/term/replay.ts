// SPDX-License-Identifier: Apache-2.0

// Reads the replay stream of the worker:
//
//   CSI 8;rows;cols t  APC "sp:h1" ST  ESC(B ESC)B ESC*B ESC+B SI  <history>
//   CSI 8;rows;cols t  <repaint of the screen>
//
// The head and the history are absent when only the screen was asked for. The
// history never holds CSI 8 … t, and the repaint begins right after the last.

export interface Replay {
  cols: number;
  rows: number;
  /** Committed lines as flowing styled text; null when the stream has no history section. */
  history: Uint8Array | null;
  /** What paints the screen, from any earlier state of the consumer. */
  screen: Uint8Array;
}

interface Geometry {
  start: number;
  end: number;
  cols: number;
  rows: number;
}

/** Longest geometry marker: ESC [ 8 ; 5 digits ; 5 digits t. */
const markerMax = 16;

const sentinel = new TextEncoder().encode('\x1b_sp:h1\x1b\\');
const toAscii = new TextEncoder().encode('\x1b(B\x1b)B\x1b*B\x1b+B\x0f');

/** Splits the stream at its last geometry marker. Null when it has none. */
export function splitReplay(stream: Uint8Array): Replay | null {
  const last = lastGeometry(stream);
  if (!last) return null;
  return {
    cols: last.cols,
    rows: last.rows,
    history: historyOf(stream.subarray(0, last.start)),
    screen: stream.subarray(last.end),
  };
}

function historyOf(head: Uint8Array): Uint8Array | null {
  const first = geometryAt(head, 0);
  if (!first || !hasPrefix(head, first.end, sentinel)) return null;
  const start = first.end + sentinel.length;
  return head.subarray(hasPrefix(head, start, toAscii) ? start + toAscii.length : start);
}

function lastGeometry(bytes: Uint8Array): Geometry | null {
  for (let at = bytes.lastIndexOf(0x1b); at >= 0; at = at && bytes.lastIndexOf(0x1b, at - 1)) {
    const found = geometryAt(bytes, at);
    if (found) return found;
    if (at === 0) return null;
  }
  return null;
}

function geometryAt(bytes: Uint8Array, at: number): Geometry | null {
  if (bytes[at] !== 0x1b || bytes[at + 1] !== 0x5b || bytes[at + 2] !== 0x38) return null;
  const text = String.fromCharCode(...bytes.subarray(at, at + markerMax));
  const match = /^\x1b\[8;([1-9][0-9]{0,3});([1-9][0-9]{0,3})t/.exec(text);
  if (!match) return null;
  const rows = Number(match[1]);
  const cols = Number(match[2]);
  return { start: at, end: at + match[0].length, cols, rows };
}

function hasPrefix(bytes: Uint8Array, at: number, prefix: Uint8Array): boolean {
  if (bytes.length < at + prefix.length) return false;
  return prefix.every((byte, i) => bytes[at + i] === byte);
}
