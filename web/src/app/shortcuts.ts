// SPDX-License-Identifier: Apache-2.0

// The page's own keys. Ctrl+Shift+letter is what a terminal cannot tell from
// Ctrl+letter, so taking it takes nothing from a program.

import type { Desk } from './desk';
import { dialog, say } from './ui';

type Action = (desk: Desk) => void;

const withCtrlShift: Record<string, Action> = {
  Enter: (desk) => void desk.orders.create(),
  KeyX: (desk) => desk.active.value && desk.orders.requestClose(desk.active.value),
  KeyE: (desk) => void desk.orders.split('cols'),
  KeyO: (desk) => void desk.orders.split('rows'),
  KeyZ: (desk) => void desk.orders.zoom(),
  KeyG: (desk) => void desk.orders.float(),
  KeyJ: (desk) => desk.step(1),
  KeyK: (desk) => desk.step(-1),
  KeyC: (desk) => void copy(desk),
  KeyF: (desk) => void desk.active.value?.reveal.search(),
  KeyH: () => {
    dialog.value = { kind: 'help' };
  },
  KeyL: (desk) => {
    if (desk.active.value) dialog.value = { kind: 'rename', pane: desk.active.value.id };
  },
};

/** Those that change what there is; a visitor has none of them. */
const atHome = new Set(['Enter', 'KeyX', 'KeyE', 'KeyO', 'KeyZ', 'KeyG', 'KeyL']);

type Row = readonly [keys: string, what: string, atHome?: boolean];

/** In the order in which a person needs them. */
const rows: readonly Row[] = [
  ['Ctrl+Shift+Enter', 'New terminal', true],
  ['Ctrl+Shift+X', 'Close terminal', true],
  ['Ctrl+Shift+E / O', 'Split right / below', true],
  ['Ctrl+Shift+Z', 'Zoom: one terminal of a window alone, or all again', true],
  ['Ctrl+Shift+G', 'Float above the splits, or back; a float is moved by its title', true],
  ['Ctrl+Shift+J / K', 'Next / previous terminal, in splits, floats and tabs'],
  ['Ctrl+Shift+1 … 9', 'Tab 1 … 9'],
  ['Ctrl+Shift+L', 'Rename terminal; F2 on a tab, or a double click, names the tab', true],
  ['Ctrl+Shift+C, Cmd+C', 'Copy the selection'],
  ['Ctrl+Shift+V, Cmd+V', 'Paste'],
  ['Shift+PgUp, wheel', 'Scrollback; PgUp, PgDn, arrows, Home move in it, End or Esc leave'],
  ['Ctrl+Shift+F', 'Find in the scrollback; Ctrl+F while it is open'],
  ['Ctrl+click', 'Open a link (http and https only)'],
  ['Shift+drag', 'Select, when the program takes the mouse (Option+drag on a Mac)'],
  ['Ctrl+Shift+H', 'This help'],
];

/** For the help; in the order in which a person needs them. */
export function shortcutHelp(guest: boolean): readonly Row[] {
  return guest ? rows.filter(([, , home]) => !home) : rows;
}

/** Takes the page's keys before the terminal sees them. */
export function installShortcuts(desk: Desk): void {
  addEventListener(
    'keydown',
    (event) => {
      if (!handle(desk, event)) return;
      event.preventDefault();
      event.stopPropagation();
    },
    true,
  );
  // What is pasted while nothing has the focus is meant for the terminal, like a key.
  addEventListener('paste', (event) => {
    const pane = desk.active.value;
    if (dialog.value || !pane || event.target !== document.body) return;
    pane.screen.term.focus();
    pane.screen.takePaste(event);
  });
}

function handle(desk: Desk, event: KeyboardEvent): boolean {
  if (dialog.value || event.isComposing) return false;
  if (event.ctrlKey && event.shiftKey && !event.altKey && !event.metaKey) {
    return ctrlShift(desk, event.code);
  }
  const pane = desk.active.value;
  if (!pane || !isTerminal(event.target)) return false;
  // Keys that nothing has the focus for are meant for the terminal.
  if (event.target === document.body) pane.screen.term.focus();
  if (event.shiftKey && event.key === 'PageUp') {
    pane.reveal.page(-1);
    return true;
  }
  if (event.shiftKey && event.key === 'PageDown') {
    pane.reveal.page(1);
    return true;
  }
  if (pane.reveal.isOpen && (event.ctrlKey || event.metaKey) && event.code === 'KeyF') {
    void pane.reveal.search();
    return true;
  }
  return pane.reveal.key(event);
}

function ctrlShift(desk: Desk, code: string): boolean {
  const digit = /^Digit([1-9])$/.exec(code)?.[1];
  if (digit) {
    const tab = desk.tabs.value[Number(digit) - 1];
    if (tab) desk.showTab(tab);
    return true;
  }
  if (!Object.hasOwn(withCtrlShift, code)) return false;
  if (desk.guest && atHome.has(code)) return true;
  withCtrlShift[code]?.(desk);
  return true;
}

/** Keys in a text field of the page are the field's. */
function isTerminal(target: EventTarget | null): boolean {
  return !(target instanceof HTMLInputElement);
}

async function copy(desk: Desk): Promise<void> {
  const text = desk.active.value?.reveal.selection;
  if (!text) return;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    say('The browser did not allow writing to the clipboard.');
  }
}
