// SPDX-License-Identifier: Apache-2.0

// The check of what arrives on spawn.ctl: one table of fields per event.

import type { CtlError, CtlEvent } from './ctl';

/** One message of the host: an event, an answer, or something a later host sends. */
export type FromCtl =
  | { kind: 'event'; event: CtlEvent }
  | { kind: 'ok'; id: number; ok: unknown }
  | { kind: 'error'; id: number; error: CtlError }
  | { kind: 'unknown' };

type Check = (value: unknown) => boolean;

const text: Check = (v) => typeof v === 'string';
const flag: Check = (v) => typeof v === 'boolean';
const count: Check = (v) => Number.isSafeInteger(v) && (v as number) >= 0;
const cells: Check = (v) => count(v) && (v as number) >= 1 && (v as number) <= 1000;
const u64: Check = (v) => typeof v === 'string' && /^[0-9]{1,20}$/.test(v);
const orNull =
  (check: Check): Check =>
  (v) =>
    v === null || check(v);
const optional =
  (check: Check): Check =>
  (v) =>
    v === undefined || check(v);

const pane: Check = shaped({
  id: text,
  name: text,
  title: text,
  state: (v) => v === 'running' || v === 'exited' || v === 'lost',
  cols: count,
  rows: count,
  exit_code: optional(orNull(Number.isSafeInteger as Check)),
  signal: optional(text),
  foreground: optional(text),
  window: optional(text),
  index: optional(count),
  place: optional(count),
  session: optional(text),
  session_name: optional(text),
  session_index: optional(count),
});

const events: Record<CtlEvent['event'], Check> = {
  pane: shaped({ pane }),
  pane_removed: shaped({ pane: text }),
  panes_ready: () => true,
  snapshot: shaped({
    pane: text,
    seq: count,
    data: text,
    last: flag,
    cols: optional(count),
    rows: optional(count),
    full: optional(flag),
    unavailable: optional(flag),
    watermark: optional(u64),
    dc_offset: optional(count),
    epoch: optional(u64),
    offset: optional(count),
  }),
  history_delta: shaped({ pane: text, epoch: u64, offset: count, data: text }),
  history_wipe: shaped({ pane: text, epoch: u64 }),
  history_gap: shaped({ pane: text }),
  size: shaped({ pane: text, cols: cells, rows: cells }),
  control: shaped({
    pane: text,
    you: flag,
    controller: text,
    controller_name: text,
    request: optional(orNull(shaped({ viewer: text, name: text }))),
  }),
  bell: shaped({ pane: text }),
  exit: shaped({
    pane: text,
    exit_code: optional(orNull(Number.isSafeInteger as Check)),
    signal: optional(text),
  }),
  lost: shaped({ pane: text }),
  dropped: shaped({ pane: text, reason: text }),
};

/**
 * Reads one message. An event of an unknown name is `unknown`, so that a newer
 * host may say more; a known one of a wrong shape throws.
 */
export function readCtl(message: string): FromCtl {
  const value: unknown = JSON.parse(message);
  if (!isRecord(value)) throw new Error('ctl message is not an object');
  if (typeof value.event === 'string') return readEvent(value, value.event);
  if (!count(value.id)) throw new Error('ctl message without id');
  const id = value.id as number;
  if (value.error === undefined) return { kind: 'ok', id, ok: value.ok };
  if (!shaped({ code: text, message: text })(value.error)) throw new Error('ctl error shape');
  return { kind: 'error', id, error: value.error as CtlError };
}

function readEvent(value: Record<string, unknown>, name: string): FromCtl {
  if (!Object.hasOwn(events, name)) return { kind: 'unknown' };
  if (!events[name as CtlEvent['event']](value)) throw new Error(`ctl event ${name} shape`);
  return { kind: 'event', event: value as unknown as CtlEvent };
}

function shaped(fields: Record<string, Check>): Check {
  const entries = Object.entries(fields);
  return (value) => isRecord(value) && entries.every(([name, check]) => check(value[name]));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
