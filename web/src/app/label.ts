// SPDX-License-Identifier: Apache-2.0

// What a pane is called where a person sees it. A checkpoint keeps no name and no
// title of a pane, no command and no folder: a record is called by what it keeps.

import { safeTitle } from '../term/title';
import type { PaneInfo } from '../wire/ctl';
import type { Session, Window } from '../wire/verbs';
import { panesOf } from './layout';

/**
 * The name that a pane was given, its float's title, its program's, what runs in it or
 * was started; of which a record has the first two at most. Else what its place is called. Its id is left
 * for a pane whose place is not known.
 */
export function labelOf(
  info: PaneInfo,
  windows: readonly Window[],
  sessions: readonly Session[],
): string {
  const window = windows.find((at) => at.window === info.window);
  const float = window?.floats.find(({ pane }) => pane === info.id);
  return (
    safeTitle(info.name) ||
    safeTitle(float?.title ?? '') ||
    safeTitle(info.title) ||
    safeTitle(info.foreground) ||
    safeTitle(info.argv0) ||
    (window ? placeLabel(info.id, window, windows, sessions) : '') ||
    info.id
  );
}

/** What the browser calls the page: the terminal that is shown, and whether any asks for attention. */
export function titleOf(label: string | null, asks: boolean): string {
  return `${asks ? '● ' : ''}${label ? `${label} — ` : ''}spawn`;
}

type Named = Pick<Window, 'session' | 'name'>;

/** "build", or "work 2" for the second window of that session without a name of its own. */
export function windowLabel(
  window: Named,
  windows: readonly Named[],
  sessions: readonly Pick<Session, 'session' | 'name'>[],
): string {
  const row = windows.filter(({ session }) => session === window.session);
  const session = sessions.find((at) => at.session === window.session);
  const numbered = `${safeTitle(session?.name ?? '') || window.session} ${row.indexOf(window) + 1}`;
  return safeTitle(window.name) || numbered;
}

/** As its window is called; "build (1 of 3)" where there are several panes. */
function placeLabel(
  pane: string,
  window: Window,
  windows: readonly Window[],
  sessions: readonly Session[],
): string {
  const name = windowLabel(window, windows, sessions);
  const panes = panesOf(window);
  return panes.length > 1 ? `${name} (${panes.indexOf(pane) + 1} of ${panes.length})` : name;
}
