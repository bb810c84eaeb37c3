// SPDX-License-Identifier: Apache-2.0

// The checkpoints that the host keeps, and what a person may do with them.

import { signal } from '@preact/signals';
import { type Ctl, CtlFailure, failedWith } from '../link/ctl';
import type { PaneInfo } from '../wire/ctl';
import type { CheckpointStatus, Outline, RecoveryInspectResult } from '../wire/verbs';

/** Checkpoints that are looked into and shown, the newest, beside the one that a person is led to. */
export const shownMax = 32;

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
  /** The code with which the host refused to look into it; '' where it did not. */
  refused: string;
  /** What is in it; null when nobody may know. */
  inside: RecoveryInspectResult | null;
}

export class Recovery {
  /** The newest first; null until the host has told, and when it keeps none. */
  readonly checkpoints = signal<readonly Checkpoint[] | null>(null);
  /** How many more there are, older or without a generation. */
  readonly others = signal(0);
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
      const shown = [...checkpoints]
        .sort((a, b) => (b.generation ?? 0) - (a.generation ?? 0))
        .filter(({ leading }, rank) => leading || rank < shownMax);
      const found: Checkpoint[] = [];
      for (const at of shown) {
        const seen = await look(ctl, at);
        if (seen) found.push(seen);
      }
      this.others.value = checkpoints.length - shown.length;
      this.checkpoints.value = found;
    } catch (error) {
      this.checkpoints.value = null;
      if (!failedWith(error, 'unsupported.verb') && !failedWith(error, 'closed')) {
        this.failure.value = reason(error);
      }
    }
  }

  /** What a restore of one would make; a text says why that cannot be told. */
  async outline(id: string): Promise<Outline | string> {
    try {
      const ctl = this.ctl();
      if (!ctl) throw new CtlFailure('closed', 'not connected');
      const { topology } = await ctl.call('recovery.inspect', { checkpoint: id, topology: true });
      return topology ?? { sessions: [], windows: [], panes: [] };
    } catch (error) {
      return reason(error);
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

/** What it has become since the list was made, by the code with which the host refuses it. */
const became: ReadonlyMap<string, Checkpoint['status']> = new Map([
  ['conflict.checkpoint_corrupt', 'corrupt'],
  ['conflict.checkpoint_expired', 'expired'],
  ['unavailable.recovery_io', 'unsafe'],
  ['unsupported.checkpoint_format', 'incompatible'],
  ['unsupported.checkpoint_size', 'incompatible'],
]);

/** Looks into what may be read, and asks why not of what may not for one of two reasons. Null: it is gone. */
async function look(ctl: Ctl, listed: CheckpointStatus): Promise<Checkpoint | null> {
  const { checkpoint: id, status, generation = 0, leading = false } = listed;
  const { captured_at: capturedAt = null, panes = 0, running = 0, text_panes: texts = 0 } = listed;
  const counts = { panes, running, texts };
  const at = { id, status, generation, leading, capturedAt, ...counts, refused: '', inside: null };
  if (status !== 'valid' && status !== 'incompatible') return at;
  try {
    return { ...at, inside: await ctl.call('recovery.inspect', { checkpoint: id }) };
  } catch (error) {
    if (!(error instanceof CtlFailure) || error.code === 'closed') throw error;
    if (error.code === 'not_found.checkpoint') return null;
    const now = became.get(error.code) ?? status;
    return { ...at, status: now, refused: error.code, leading: leading && now === 'valid' };
  }
}

const reasons: Readonly<Record<string, string>> = {
  'conflict.not_empty':
    'There are terminals already. A checkpoint can be restored only while there are none.',
  'conflict.checkpoint_corrupt': 'It is damaged: it cannot be restored.',
  'conflict.checkpoint_expired': 'It is too old, or from the future: it cannot be restored.',
  'conflict.recovery_busy': 'A checkpoint is being written. Try again in a moment.',
  'conflict.not_archive': 'This is no record any more.',
  'not_found.checkpoint': 'It is gone.',
  'unavailable.recovery_disabled': 'Checkpoints are switched off in the settings of spawnd.',
  'unavailable.spawn': 'The command could not be started.',
  'unsupported.checkpoint_format': 'It was written by another version of spawnd.',
  'unsupported.checkpoint_size': 'It is larger than this spawnd reads.',
  closed: 'Not connected.',
};

/** Why something was not done, for a person. */
export function reason(error: unknown): string {
  if (!(error instanceof CtlFailure)) return 'That did not work.';
  // The host says what failed, and of a removal whether it is known to be done.
  if (failedWith(error, 'unavailable.recovery_io')) {
    return `The folder of checkpoints could not be read or written: ${error.message}.`;
  }
  return Object.hasOwn(reasons, error.code) ? (reasons[error.code] as string) : error.message;
}

const statuses: Record<Checkpoint['status'], string> = {
  valid: 'Can be restored',
  corrupt: 'Damaged: it cannot be restored',
  incompatible: 'Written by another version of spawnd, or larger than this one reads',
  expired: 'Too old: it is not restored any more',
  unsafe: 'Its file may have been changed by others: it is not read',
  future: 'Dated in the future: it is not read',
};

/** Why it is incompatible, by the code with which the host refused it. */
const incompatible: ReadonlyMap<string, string> = new Map([
  ['unsupported.checkpoint_format', 'Written by another version of spawnd'],
  ['unsupported.checkpoint_size', 'Larger than this spawnd reads'],
]);

export function statusText({ status, refused }: Pick<Checkpoint, 'status' | 'refused'>): string {
  const why = status === 'incompatible' ? incompatible.get(refused) : undefined;
  return why ?? statuses[status] ?? 'Not known to this page';
}

/** What a restore would bring back, in words. */
export function insideText(inside: RecoveryInspectResult): string {
  const { sessions, windows, panes, text_panes: kept, expired_text_panes: gone } = inside;
  const of = kept === panes ? 'all' : kept || 'none';
  const texts = kept + gone === 0 ? 'no text was kept' : `the text of ${of} of them`;
  const expired = gone > 0 ? `; ${gone} expired` : '';
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
  const end = processText(archive.process_state, info.exit_code, info.signal);
  const had = archive.process_state === 'exited' ? 'had' : 'was';
  const parts = [`Record of ${label}`, `it ${had} ${end}`];
  if (archive.text_state !== 'plain') parts.push(textText(archive.text_state));
  if (archive.cut_rows > 0) parts.push(`${many(archive.cut_rows, 'row')} cut at the edge`);
  return `${parts.join('; ')}.`;
}

/** What was seen of the end of its process; never that it does not run any more. */
export function processText(processState: string, exitCode: number | null, signal: string): string {
  if (processState !== 'exited') return 'interrupted, and may run still';
  if (signal) return `ended by signal ${signal}`;
  return exitCode === null ? 'ended, nobody knows how' : `exited with ${exitCode}`;
}

const texts: ReadonlyMap<string, string> = new Map([
  ['plain', 'its text was kept'],
  ['expired', 'its text has expired'],
  ['omitted', 'its text was not kept'],
]);

/** Whether its text is there. */
export function textText(textState: string): string {
  return texts.get(textState) ?? '';
}

function many(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`;
}
