// SPDX-License-Identifier: Apache-2.0

// Keys that a phone's keyboard lacks.

import type { Desk } from './desk';
import type { Pane } from './pane';
import { say, stickyCtrl } from './ui';

interface Key {
  face: string;
  label: string;
  press(pane: Pane): void;
}

const arrow = (face: string, label: string, final: string): Key => ({
  face,
  label,
  press: (pane) => {
    const application = pane.screen.term.modes.applicationCursorKeysMode;
    pane.press(`\x1b${application ? 'O' : '['}${final}`);
  },
});

const plain = (face: string, label: string, sequence: string): Key => ({
  face,
  label,
  press: (pane) => pane.press(sequence),
});

const before: Key[] = [plain('esc', 'esc, Escape', '\x1b'), plain('tab', 'Tab', '\t')];

const after: Key[] = [
  arrow('←', 'Left', 'D'),
  arrow('↓', 'Down', 'B'),
  arrow('↑', 'Up', 'A'),
  arrow('→', 'Right', 'C'),
  plain('|', 'Vertical bar', '|'),
  plain('/', 'Slash', '/'),
  plain('~', 'Tilde', '~'),
  plain('-', 'Hyphen', '-'),
  { face: 'paste', label: 'Paste', press: (pane) => void pasteInto(pane) },
  { face: 'pgup', label: 'Scrollback', press: (pane) => pane.reveal.page(-1) },
];

/** A record takes no keys, so it has none. */
export function KeyRow({ desk }: { desk: Desk }) {
  const pane = desk.active.value;
  if (!pane || pane.info.value.archive) return null;
  return (
    <section class="keys" aria-label="Terminal keys">
      {before.map((key) => (
        <KeyButton key={key.label} of={key} pane={pane} />
      ))}
      <button
        type="button"
        class={stickyCtrl.value ? 'on' : ''}
        aria-pressed={stickyCtrl.value}
        aria-label="ctrl, for the next key"
        onPointerDown={(event) => event.preventDefault()}
        onClick={() => {
          stickyCtrl.value = !stickyCtrl.value;
        }}
      >
        ctrl
      </button>
      {after.map((key) => (
        <KeyButton key={key.label} of={key} pane={pane} />
      ))}
    </section>
  );
}

function KeyButton({ of, pane }: { of: Key; pane: Pane }) {
  return (
    <button
      type="button"
      aria-label={of.label}
      // Focus stays in the terminal, so that the phone's keyboard stays up.
      onPointerDown={(event) => event.preventDefault()}
      onClick={() => of.press(pane)}
    >
      {of.face}
    </button>
  );
}

/** Reads the clipboard with the person's consent, as the browser asks for it. */
export async function pasteInto(pane: Pane): Promise<void> {
  try {
    pane.paste(await navigator.clipboard.readText());
  } catch {
    say('The browser did not allow reading the clipboard.');
  }
}
