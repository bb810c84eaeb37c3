// SPDX-License-Identifier: Apache-2.0

// Gives xterm.js whole characters only. Its decoder loses a character that is
// cut after a continuation byte 0x80 (an em dash is E2 80 94): what it keeps
// of the first part it reads back only up to a byte whose low six bits are 0.

import { concat } from './bytes';

/** xterm.js decodes a longer write in parts of this many bytes, wherever they end. */
export const decodedBytesMax = 131_072;

const nothing = new Uint8Array(0);

/**
 * How many bytes before `end` begin a character that is not whole there, 0 to 3.
 * As the decoder of xterm.js has it: a lead byte always begins anew, and what no
 * continuation can save (C0, F7) is a lead byte too.
 */
export function openTail(bytes: Uint8Array, end = bytes.length): number {
  for (let back = 1; back <= 3 && back <= end; back++) {
    const byte = bytes[end - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    return sequenceLength(byte) > back ? back : 0;
  }
  return 0;
}

/** Cuts a write where the decoder would cut it within a character; mostly nowhere. */
export function wholePieces(bytes: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let start = 0;
  for (let end = decodedBytesMax; end < bytes.length; end += decodedBytesMax) {
    const open = openTail(bytes, end);
    if (open === 0) continue;
    end -= open;
    pieces.push(bytes.subarray(start, end));
    start = end;
  }
  pieces.push(bytes.subarray(start));
  return pieces;
}

/** Holds the beginning of a character back until the rest of it comes. */
export class WholeCharacters {
  #held = nothing;

  /** What of the stream can be written now; empty when all of it is held. */
  next(bytes: Uint8Array): Uint8Array {
    const all = this.#held.length === 0 ? bytes : concat([this.#held, bytes]);
    const end = all.length - openTail(all);
    // Copied: the rest of a large message is not to be kept alive for three bytes.
    this.#held = all.slice(end);
    return all.subarray(0, end);
  }

  /** The stream ends here; another one begins. */
  reset(): void {
    this.#held = nothing;
  }
}

function sequenceLength(lead: number): number {
  if ((lead & 0xe0) === 0xc0) return 2;
  if ((lead & 0xf0) === 0xe0) return 3;
  return (lead & 0xf8) === 0xf0 ? 4 : 1;
}

interface Writable {
  write(bytes: Uint8Array, parsed?: () => void): void;
}

/** Writes bytes that end with a whole character; `parsed` is called when all of them are. */
export function writeWhole(term: Writable, bytes: Uint8Array, parsed: () => void): void {
  const pieces = wholePieces(bytes);
  const last = pieces.pop() as Uint8Array;
  for (const piece of pieces) term.write(piece);
  term.write(last, parsed);
}
