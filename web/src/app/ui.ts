// SPDX-License-Identifier: Apache-2.0

// What is open on top of the terminals, and what is said to the person.

import { signal } from '@preact/signals';

export type Dialog =
  | { kind: 'help' }
  | { kind: 'close'; pane: string }
  | { kind: 'paste'; text: string; send: () => void }
  | { kind: 'pair'; url: string }
  | { kind: 'text'; text: string }
  | { kind: 'rename'; pane: string }
  | { kind: 'renameWindow'; window: string }
  | { kind: 'closeWindow'; window: string; panes: number }
  | { kind: 'records' }
  | { kind: 'share'; pane: string }
  | { kind: 'comers' }
  | { kind: 'relaunch'; pane: string };

export interface Notice {
  id: number;
  text: string;
}

export const dialog = signal<Dialog | null>(null);
export const notices = signal<readonly Notice[]>([]);
/** The target of the link under the pointer, and whether it may open. */
export const hoveredLink = signal<{ target: string; refused: boolean } | null>(null);
/** Ctrl of the on-screen keys is held for the next key. */
export const stickyCtrl = signal(false);
/** Counts refused keys, so that the reason can be shown anew for each. */
export const refusals = signal({ count: 0, text: '' });

const noticeMs = 5000;
const noticesMax = 3;
let nextNotice = 1;

/** Says something once, for five seconds. The same text is not said twice at a time. */
export function say(text: string): void {
  if (notices.value.some((n) => n.text === text)) return;
  const id = nextNotice++;
  notices.value = [...notices.value.slice(1 - noticesMax), { id, text }];
  setTimeout(() => {
    notices.value = notices.value.filter((n) => n.id !== id);
  }, noticeMs);
}

/** What was refused elsewhere is no matter here. */
export function forgetRefusal(): void {
  refusals.value = { count: refusals.value.count, text: '' };
}

/** A key was not sent: show why, at the place where the person looks. */
export function refuse(text: string): void {
  const count = refusals.value.count + 1;
  refusals.value = { count, text };
  setTimeout(() => {
    if (refusals.value.count === count) refusals.value = { count, text: '' };
  }, noticeMs);
}
