// SPDX-License-Identifier: Apache-2.0

// Joins two ordered streams that are not ordered against each other: the live
// bytes of the pane's channel, and snapshots on the control channel. A snapshot
// names the position D of the live stream at which it was cut: bytes before D
// are in it, bytes from D on come after it. The recent live bytes are kept, so
// that a snapshot which arrives late finds the bytes that follow its cut.

import type { SnapshotEvent } from '../wire/ctl';
import { concat } from './bytes';
import type { History } from './history';
import { splitReplay } from './replay';

/** Live bytes that may wait for the screen; beyond it a fresh snapshot replaces them. */
export const pendingBytesMax = 4 << 20;

/** Live bytes kept behind what the screen has, for a snapshot cut in the past. */
export const retainedBytesMax = 1 << 20;

/** Bytes given to the screen and not yet parsed by it. */
export const outstandingBytesMax = 256 << 10;

/** Largest snapshot put together; the worker's own frame is at most 32 MiB. */
export const snapshotBytesMax = 48 << 20;

export interface FeedSink {
  /** Sets the size, then paints the whole screen. */
  paint(cols: number, rows: number, screen: Uint8Array): void;
  /** Applies live bytes; `done` is called when they are parsed. */
  write(bytes: Uint8Array, done: () => void): void;
  requestSnapshot(full: boolean): void;
}

interface Chunk {
  at: number;
  bytes: Uint8Array;
}

interface Assembly {
  head: SnapshotHead;
  seq: number;
  bytes: number;
  parts: Uint8Array[];
}

interface SnapshotHead {
  cols: number;
  rows: number;
  full: boolean;
  unavailable: boolean;
  dcOffset: number;
  epoch: bigint;
  offset: number;
}

export class Feed {
  cols = 0;
  rows = 0;
  /** The screen is not known to be right: nothing is shown until a snapshot lands. */
  stale = true;

  #chunks: Chunk[] = [];
  #end = 0;
  #next = 0;
  #outstanding = 0;
  #generation = 0;
  #assembly: Assembly | null = null;
  #requested: 'none' | 'screen' | 'full' = 'none';

  constructor(
    private readonly sink: FeedSink,
    private readonly history: History,
  ) {}

  /** A new channel: positions begin at 0, and the attach brings a full snapshot. */
  restart(): void {
    this.#generation++;
    this.#chunks = [];
    this.#end = 0;
    this.#next = 0;
    this.#outstanding = 0;
    this.stale = true;
    this.#assembly = null;
    this.#requested = 'full';
    this.history.disconnect();
  }

  /** One message of the pane's channel. The bytes are kept, not copied. */
  live(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#chunks.push({ at: this.#end, bytes });
    this.#end += bytes.length;
    if (this.#end - this.#next > pendingBytesMax) this.#giveUpPending();
    this.#pump();
    this.#trim();
  }

  /** One piece of a snapshot, already decoded. Pieces of one pane come in order. */
  snapshot(piece: SnapshotEvent, data: Uint8Array): void {
    if (piece.seq === 0) this.#assembly = begin(piece);
    const assembly = this.#assembly;
    if (!assembly) return;
    if (assembly.seq !== piece.seq || assembly.bytes + data.length > snapshotBytesMax) {
      this.#assembly = null;
      this.#ask(assembly.head.full);
      return;
    }
    assembly.seq++;
    assembly.bytes += data.length;
    assembly.parts.push(data);
    if (piece.last) this.#finish(assembly);
  }

  /** The host left history deltas out. */
  gap(): void {
    this.history.gap(this.#assembly?.head.full ?? false);
  }

  /** Asks for a full snapshot, once: what History calls when it finds a hole. */
  heal(): void {
    if (this.#requested !== 'full') this.#ask(true);
  }

  /** The host refused the request, so that none is under way. */
  requestFailed(): void {
    this.#requested = 'none';
  }

  #finish(assembly: Assembly): void {
    const { head } = assembly;
    this.#assembly = null;
    if (head.full || this.#requested === 'screen') this.#requested = 'none';
    const replay = splitReplay(concat(assembly.parts));
    if (head.full) this.#seed(head, replay?.history ?? null);
    if (replay) this.#repaint(head, replay.cols, replay.rows, replay.screen);
    else if (this.stale) this.#ask(false);
  }

  #seed(head: SnapshotHead, text: Uint8Array | null): void {
    if (head.unavailable || !text) this.history.markUnavailable();
    else this.history.seed(head.epoch, head.offset, text);
  }

  #repaint(head: SnapshotHead, cols: number, rows: number, screen: Uint8Array): void {
    const sameSize = cols === this.cols && rows === this.rows;
    // A full one that only heals the history leaves an exact screen alone.
    if (!this.stale && head.full && sameSize) return;
    if (head.dcOffset < this.#start()) {
      this.stale = true;
      this.#ask(false);
      return;
    }
    this.cols = cols;
    this.rows = rows;
    this.#next = head.dcOffset;
    this.stale = false;
    this.sink.paint(cols, rows, screen);
    this.#pump();
  }

  #pump(): void {
    if (this.stale || (this.#assembly && !this.#assembly.head.full)) return;
    for (const chunk of this.#chunks) {
      if (this.#outstanding >= outstandingBytesMax) return;
      const end = chunk.at + chunk.bytes.length;
      if (end <= this.#next) continue;
      const fresh = chunk.bytes.subarray(Math.max(0, this.#next - chunk.at));
      this.#next = end;
      this.#write(fresh);
    }
  }

  #write(bytes: Uint8Array): void {
    const generation = this.#generation;
    this.#outstanding += bytes.length;
    this.sink.write(bytes, () => {
      if (generation !== this.#generation) return;
      this.#outstanding -= bytes.length;
      this.#pump();
      this.#trim();
    });
  }

  #giveUpPending(): void {
    this.#chunks = [];
    this.#next = this.#end;
    this.stale = true;
    if (this.#requested === 'none') this.#ask(false);
  }

  #trim(): void {
    let drop = 0;
    for (const chunk of this.#chunks) {
      const end = chunk.at + chunk.bytes.length;
      if (end > this.#next || this.#end - end < retainedBytesMax) break;
      drop++;
    }
    if (drop > 0) this.#chunks.splice(0, drop);
  }

  #start(): number {
    return this.#chunks[0]?.at ?? this.#end;
  }

  #ask(full: boolean): void {
    this.#requested = full ? 'full' : 'screen';
    this.sink.requestSnapshot(full);
  }
}

function begin(piece: SnapshotEvent): Assembly | null {
  if (piece.cols === undefined || piece.rows === undefined || piece.dc_offset === undefined)
    return null;
  const head = {
    cols: piece.cols,
    rows: piece.rows,
    full: piece.full ?? false,
    unavailable: piece.unavailable ?? false,
    dcOffset: piece.dc_offset,
    epoch: BigInt(piece.epoch ?? '0'),
    offset: piece.offset ?? 0,
  };
  return { head, seq: 0, bytes: 0, parts: [] };
}
