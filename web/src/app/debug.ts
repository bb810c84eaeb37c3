// SPDX-License-Identifier: Apache-2.0

// A view of the page for tests and for a curious person's console. It reads;
// there is nothing in it that types, and no key or code.

import type { Desk } from './desk';
import { linkStatus } from './status';

export interface PaneView {
  id: string;
  label: string;
  state: string;
  phase: string;
  cols: number;
  rows: number;
  control: string;
  exitCode: number | null;
  scrollback: boolean;
  history: { bytes: number; anchored: boolean; unavailable: boolean };
}

export interface SpawnView {
  state(): {
    link: string;
    status: string;
    rtt: number | null;
    active: string | null;
    /** Ids of the panes that are seen. */
    seen: string[];
    panes: PaneView[];
  };
  screenText(pane?: string): string;
  historyText(pane?: string): string;
}

export type DebugTarget = typeof globalThis & { spawn?: SpawnView };

/** Puts the view at `window.spawn`. */
export function expose(target: DebugTarget, desk: Desk): void {
  target.spawn = debugView(desk);
}

function debugView(desk: Desk): SpawnView {
  const find = (id?: string) => (id === undefined ? desk.active.value : desk.find(id));
  return Object.freeze({
    state: () => ({
      link: desk.link.value.phase,
      status: linkStatus(desk.link.value, desk.known.value, Date.now()).text,
      rtt: desk.rtt.value,
      active: desk.active.value?.id ?? null,
      seen: desk.panes.value.filter((pane) => !pane.cell.hidden).map((pane) => pane.id),
      panes: desk.panes.value.map((pane) => ({
        id: pane.id,
        label: desk.label(pane),
        state: pane.info.value.state,
        phase: pane.phase.value,
        ...pane.size.value,
        control: pane.control.value.you ? 'you' : pane.control.value.controller,
        exitCode: pane.info.value.exit_code ?? null,
        scrollback: pane.reveal.isOpen,
        history: {
          bytes: pane.history.bytes,
          anchored: pane.history.anchor !== null,
          unavailable: pane.history.unavailable,
        },
      })),
    }),
    screenText: (id?: string) => find(id)?.screen.text() ?? '',
    historyText: (id?: string) => find(id)?.historyText() ?? '',
  });
}
