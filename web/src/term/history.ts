// SPDX-License-Identifier: Apache-2.0

// The page's copy of the worker's log of committed lines: seeded by a full
// snapshot, extended by deltas alone. Continuity is a pair (epoch, offset);
// whatever does not continue it drops the anchor and asks for one snapshot.

/** Most bytes kept; beyond it the oldest whole lines go. */
export const historyBytesMax = 16 << 20;

/** Most bytes of deltas kept while a snapshot is on its way. */
const heldBytesMax = 4 << 20;

export interface Anchor {
  epoch: bigint;
  /** Committed bytes of this epoch that the copy has seen. */
  offset: number;
}

interface Delta {
  epoch: bigint;
  offset: number;
  text: Uint8Array;
}

export class History {
  /** Null until the first seed and after a hole. */
  anchor: Anchor | null = null;
  /** The worker's log is disabled or could not be authenticated. */
  unavailable = false;
  /** Bytes of old lines given up to stay within the bound. */
  dropped = 0;

  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #held: Delta[] = [];
  #heldBytes = 0;
  #heldLost = false;

  /** `onHole` is called once for each hole; a full snapshot is expected to follow. */
  constructor(
    private readonly onHole: () => void,
    private readonly bytesMax = historyBytesMax,
  ) {}

  get bytes(): number {
    return this.#bytes;
  }

  /** Takes the history section of a full snapshot; `offset` is where it ends. */
  seed(epoch: bigint, offset: number, text: Uint8Array): void {
    if (this.#isOld(epoch, offset)) return;
    this.unavailable = false;
    this.#clear();
    this.anchor = { epoch, offset };
    this.#append(text);
    const held = this.#held;
    const lost = this.#heldLost;
    this.#dropHeld();
    for (const delta of held) this.delta(delta.epoch, delta.offset, delta.text);
    if (lost) this.gap();
  }

  /** Takes one committed batch, or a fragment of one. Covered bytes are skipped. */
  delta(epoch: bigint, offset: number, text: Uint8Array): void {
    const anchor = this.anchor;
    if (!anchor) {
      this.#hold({ epoch, offset, text });
      return;
    }
    if (epoch < anchor.epoch) return;
    if (epoch > anchor.epoch || offset > anchor.offset) {
      this.#hole({ epoch, offset, text });
      return;
    }
    const fresh = text.subarray(Math.min(text.length, anchor.offset - offset));
    anchor.offset += fresh.length;
    this.#append(fresh);
  }

  /** The program erased its scrollback. The new epoch begins at 0, known whole. */
  wipe(epoch: bigint): void {
    if (this.anchor && epoch <= this.anchor.epoch) return;
    this.unavailable = false;
    this.#dropHeld();
    this.#clear();
    this.anchor = { epoch, offset: 0 };
  }

  /**
   * The host could not keep up and left deltas out. Without an anchor the seed
   * that is awaited covers it, unless that seed was `cut` before the gap.
   */
  gap(cut = false): void {
    if (this.anchor) this.#hole(null);
    else if (cut) this.#heldLost = true;
  }

  /** There is no log to view. What was seen is given up with it: it cannot be vouched for. */
  markUnavailable(): void {
    this.unavailable = true;
    this.anchor = null;
    this.#dropHeld();
    this.#clear();
  }

  /** The connection is gone; the text stays to be read until the next seed. */
  disconnect(): void {
    this.anchor = null;
    this.#dropHeld();
  }

  /** The newest whole lines that fit `max` bytes, all of them by default. */
  text(max = Number.POSITIVE_INFINITY): Uint8Array {
    const out = new Uint8Array(this.#bytes);
    let at = 0;
    for (const chunk of this.#chunks) {
      out.set(chunk, at);
      at += chunk.length;
    }
    if (out.length <= max) return out;
    const cut = out.indexOf(0x0a, out.length - max - 1);
    return cut < 0 ? out.subarray(out.length) : out.subarray(cut + 1);
  }

  /** A seed that says less than what is already known for certain. */
  #isOld(epoch: bigint, offset: number): boolean {
    const anchor = this.anchor;
    if (!anchor) return false;
    return epoch < anchor.epoch || (epoch === anchor.epoch && offset <= anchor.offset);
  }

  #hole(first: Delta | null): void {
    this.anchor = null;
    this.#dropHeld();
    if (first) this.#hold(first);
    this.onHole();
  }

  #hold(delta: Delta): void {
    if (this.unavailable) return;
    if (this.#heldBytes + delta.text.length > heldBytesMax) {
      this.#heldLost = true;
      return;
    }
    this.#held.push(delta);
    this.#heldBytes += delta.text.length;
  }

  #dropHeld(): void {
    this.#held = [];
    this.#heldBytes = 0;
    this.#heldLost = false;
  }

  #clear(): void {
    this.#chunks = [];
    this.#bytes = 0;
    this.dropped = 0;
  }

  #append(text: Uint8Array): void {
    if (text.length === 0) return;
    this.#chunks.push(text);
    this.#bytes += text.length;
    while (this.#bytes > this.bytesMax && this.#dropLine()) {}
  }

  /** Gives up the oldest line, or the oldest chunk of one that is endless. */
  #dropLine(): boolean {
    const first = this.#chunks[0];
    if (!first) return false;
    const excess = this.#bytes - this.bytesMax;
    const from = Math.min(excess, first.length) - 1;
    const end = first.indexOf(0x0a, from);
    const cut = end < 0 ? first.length : end + 1;
    if (cut >= first.length) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(cut);
    this.#bytes -= cut;
    this.dropped += cut;
    return true;
  }
}
