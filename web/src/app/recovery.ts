// SPDX-License-Identifier: Apache-2.0

// The checkpoints that the host keeps, and what a person may do with them.

import { signal } from '@preact/signals';
import { type Ctl, CtlFailure, failedWith } from '../link/ctl';
import type { PaneInfo } from '../wire/ctl';
import type { CheckpointStatus, RecoveryInspectResult } from '../wire/verbs';

/** Checkpoints that are looked into, the newest; a store keeps no more than a few. */
const inspectMax = 32;

export interface Checkpoint {
  id: string;
  status: CheckpointStatus['status'];
  /** Grows with each checkpoint; 0 when it could not be read. */
  generation: number;
  /** The host leads a person to this one. */
  leading: boolean;
  /** When it was captured, in Unix milliseconds; null when it could not be read. */
  capturedAt: number | null;
  /** How many terminals it has, how many of them ran, and of how many the text was kept. */
  panes: number;
  running: number;
  texts: number;
  /** What is in it; null when nobody may know. */
  inside: RecoveryInspectResult | null;
}

export class Recovery {
  /** The newest first; null until the host has told, and when it keeps none. */
  readonly checkpoints = signal<readonly Checkpoint[] | null>(null);
  /** Why the last thing asked for was not done. */
  readonly failure = signal('');
  readonly busy = signal(false);

  constructor(private readonly ctl: () => Ctl | null) {}

  /** Asks for all of them. A host that does not serve this has none. */
  async load(): Promise<void> {
    const ctl = this.ctl();
    if (!ctl) return;
    try {
      const { checkpoints } = await ctl.call('recovery.list', {});
      const newest = [...checkpoints]
        .sort((a, b) => (b.generation ?? 0) - (a.generation ?? 0))
        .slice(0, inspectMax);
      const found: Checkpoint[] = [];
      for (const at of newest) found.push(await look(ctl, at));
      this.checkpoints.value = found;
    } catch (error) {
      this.checkpoints.value = null;
      if (!failedWith(error, 'unsupported.verb') && !failedWith(error, 'closed')) {
        this.failure.value = reason(error);
      }
    }
  }

  /** Makes archives of one; they come as panes. */
  restore(id: string): Promise<boolean> {
    return this.#act((ctl) => ctl.call('recovery.restore', { checkpoint: id }));
  }

  forget(id: string): Promise<boolean> {
    return this.#act((ctl) => ctl.call('recovery.forget', { checkpoint: id }));
  }

  async #act(work: (ctl: Ctl) => Promise<unknown>): Promise<boolean> {
    const ctl = this.ctl();
    if (this.busy.value) return false;
    this.busy.value = true;
    this.failure.value = '';
    try {
      if (!ctl) throw new CtlFailure('closed', 'not connected');
      await work(ctl);
      return true;
    } catch (error) {
      this.failure.value = reason(error);
      return false;
    } finally {
      this.busy.value = false;
      await this.load();
    }
  }
}

async function look(ctl: Ctl, listed: CheckpointStatus): Promise<Checkpoint> {
  const { checkpoint: id, status, generation = 0, leading = false } = listed;
  const { captured_at: capturedAt = null, panes = 0, running = 0, text_panes: texts = 0 } = listed;
  const at = { id, status, generation, leading, capturedAt, panes, running, texts, inside: null };
  if (status !== 'valid') return at;
  try {
    return { ...at, inside: await ctl.call('recovery.inspect', { checkpoint: id }) };
  } catch (error) {
    if (failedWith(error, 'closed')) throw error;
    // It has become another one since the list was made.
    const now = failedWith(error, 'conflict.checkpoint_expired') ? 'expired' : 'corrupt';
    return { ...at, status: now, leading: false };
  }
}

const reasons: Readonly<Record<string, string>> = {
  'conflict.not_empty':
    'There are terminals already. A checkpoint can be restored only while there are none.',
  'conflict.checkpoint_corrupt': 'It is damaged, so nothing was restored.',
  'conflict.checkpoint_expired': 'It is too old, or from the future, so nothing was restored.',
  'conflict.recovery_busy': 'A checkpoint is being written. Try again in a moment.',
  'conflict.not_archive': 'This is no record any more.',
  'not_found.checkpoint': 'It is gone.',
  'unavailable.recovery_disabled': 'Checkpoints are switched off in the settings of spawnd.',
  'unavailable.recovery_io': 'The folder of checkpoints cannot be read or written.',
  'unavailable.spawn': 'The command could not be started.',
  'unsupported.checkpoint_format': 'It was written by another version of spawnd.',
  'unsupported.checkpoint_size': 'It is larger than this spawnd reads.',
  closed: 'Not connected.',
};

/** Why something was not done, for a person. */
export function reason(error: unknown): string {
  if (!(error instanceof CtlFailure)) return 'That did not work.';
  return Object.hasOwn(reasons, error.code) ? (reasons[error.code] as string) : error.message;
}

const statuses: Record<Checkpoint['status'], string> = {
  valid: 'Can be restored',
  corrupt: 'Damaged: it cannot be restored',
  incompatible: 'Written by another version of spawnd',
  expired: 'Too old: it is not restored any more',
  unsafe: 'Its file may have been changed by others: it is not read',
  future: 'Dated in the future: it is not read',
};

export function statusText(status: Checkpoint['status']): string {
  return statuses[status] ?? 'Not known to this page';
}

/** What a restore would bring back, in words. */
export function insideText(inside: RecoveryInspectResult): string {
  const { sessions, windows, panes } = inside;
  const kept = inside.text_panes - inside.expired_text_panes;
  const texts =
    inside.text_panes === 0
      ? 'no text was kept'
      : `the text of ${kept === panes ? 'all' : kept} of them`;
  const expired = inside.expired_text_panes > 0 ? `; ${inside.expired_text_panes} expired` : '';
  return `${many(sessions, 'session')}, ${many(windows, 'window')}, ${many(panes, 'terminal')}; ${texts}${expired}`;
}

/** What ran when it was written. */
export function shutdownText({ inside, running }: Checkpoint): string {
  if (inside?.shutdown === 'clean') return 'Saved at a clean end: every program had ended.';
  if (running === 0) return 'Saved when nothing ran in it.';
  const they = running === 1 ? 'it was' : 'they were';
  return `Saved while ${many(running, 'terminal')} ran: ${they} interrupted, or may run still.`;
}

/** What an archive is: a record, not a terminal. `label` is what it is called. */
export function recordText(info: PaneInfo, label: string): string {
  const { archive } = info;
  if (!archive) return '';
  const parts = [`Record of ${label}`, processText(info)];
  if (archive.text_state === 'expired') parts.push('its text has expired');
  if (archive.text_state === 'omitted') parts.push('its text was not kept');
  if (archive.cut_rows > 0) parts.push(`${many(archive.cut_rows, 'row')} cut at the edge`);
  return `${parts.join('; ')}.`;
}

function processText(info: PaneInfo): string {
  if (info.archive?.process_state !== 'exited') return 'it was interrupted, and may run still';
  if (info.signal) return `it had ended by signal ${info.signal}`;
  if (info.exit_code === null) return 'it had ended, nobody knows how';
  return `it had exited with ${info.exit_code}`;
}

function many(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`;
}
