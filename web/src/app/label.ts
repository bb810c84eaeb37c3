// SPDX-License-Identifier: Apache-2.0

// What a pane is called where a person sees it.

import { safeTitle } from '../term/title';
import type { PaneInfo } from '../wire/ctl';
import type { Window } from '../wire/verbs';

/** The name it was given, its float's title, its program's, what runs in it, its id. */
export function labelOf(info: PaneInfo, window: Window | undefined): string {
  const float = window?.floats.find(({ pane }) => pane === info.id);
  return (
    safeTitle(info.name) ||
    safeTitle(float?.title ?? '') ||
    safeTitle(info.title) ||
    safeTitle(info.foreground ?? '') ||
    info.id
  );
}
