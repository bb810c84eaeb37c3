// SPDX-License-Identifier: Apache-2.0

// What a restore would make, as a tree of lines: sessions, their windows, their panes. Its
// names are of a file, and nothing here trusts its trees.

import { safeTitle } from '../term/title';
import type { Outline, OutlinedPane, OutlinedWindow } from '../wire/verbs';
import { windowLabel } from './label';
import { layoutOf, type Rect } from './layout';
import { processText, textText } from './recovery';

/** Terminals that are drawn; a person reads no more, and there may be thousands. */
export const drawnMax = 200;

export interface PaneLine {
  id: string;
  /** By which the drawing of its window names it; 0 for a float, which is not in it. */
  number: number;
  /** What it is and what is known of it. */
  text: string;
}

export interface WindowLines {
  id: string;
  name: string;
  /** Where its tiles go, in the order of their numbers. */
  tiles: readonly Rect[];
  panes: readonly PaneLine[];
}

export interface SessionLines {
  id: string;
  name: string;
  windows: readonly WindowLines[];
}

/** The first windows with at most `drawnMax` terminals in all, and how many terminals are not among theirs. */
export function linesOf(outline: Outline): { sessions: SessionLines[]; left: number } {
  const panes = new Map<string, OutlinedPane[]>();
  for (const pane of outline.panes) {
    const beside = panes.get(pane.window);
    if (beside) beside.push(pane);
    else panes.set(pane.window, [pane]);
  }
  let drawn = 0;
  let full = false;
  const sessions = outline.sessions.slice(0, drawnMax).map(({ session, name }) => {
    const row = outline.windows.filter((window) => window.session === session);
    const windows: WindowLines[] = [];
    for (const window of row.slice(0, drawnMax)) {
      const within = panes.get(window.window) ?? [];
      full ||= drawn + within.length > drawnMax;
      if (full) break;
      drawn += within.length;
      const called = windowLabel(window, row, outline.sessions);
      windows.push({ id: window.window, name: called, ...windowLines(window, within) });
    }
    return { id: session, name: safeTitle(name) || session, windows };
  });
  return { sessions, left: outline.panes.length - drawn };
}

/** Tiles by their place in the tree, as they are numbered once they are here; then the floats. */
function windowLines(
  window: OutlinedWindow,
  panes: readonly OutlinedPane[],
): Pick<WindowLines, 'tiles' | 'panes'> {
  const { tiles } = layoutOf(window);
  const numbers = new Map([...tiles.keys()].map((id, place) => [id, place + 1]));
  const lines = panes.map((pane) => {
    const number = numbers.get(pane.pane) ?? 0;
    return { id: pane.pane, number, text: paneText(pane, number === 0) };
  });
  const rank = ({ number }: PaneLine) => number || Number.POSITIVE_INFINITY;
  lines.sort((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)));
  return { tiles: [...tiles.values()], panes: lines };
}

function paneText(pane: OutlinedPane, floats: boolean): string {
  const title = safeTitle(pane.title ?? '');
  const what = floats ? [title ? `float “${title}”` : 'float'] : [];
  const end = processText(pane.process_state, pane.exit_code, pane.signal);
  return [...what, end, textText(pane.text_state), `${pane.cols}×${pane.rows}`].join('; ');
}
