// SPDX-License-Identifier: Apache-2.0

// Where the panes of a window go, as parts of its area from 0 to 1. Nothing here
// trusts the tree: what is no tree of panes is left out.

import type { Session, Window } from '../wire/verbs';

/** What a drag of a separator leaves each side at least, in 1/10000. */
export const ratioMin = 500;

/** Deepest tree that is drawn; the host keeps none that is deeper. */
const depthMax = 64;

export interface Rect {
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface Separator {
  /** The split's place among the window's nodes. */
  node: number;
  axis: 'cols' | 'rows';
  /** Of the whole split; the line is where `ratio` divides it. */
  rect: Rect;
  /** Share of the first child, in 1/10000. */
  ratio: number;
  /** A pane for which this is the nearest split of its axis; '' when there is none. */
  pane: string;
}

export interface Layout {
  tiles: ReadonlyMap<string, Rect>;
  separators: readonly Separator[];
}

/** Draws a window's tree. `held` is a ratio that a drag has changed and the host does not know yet. */
export function layoutOf(window: Window, held?: { node: number; ratio: number }): Layout {
  const tiles = new Map<string, Rect>();
  const separators: Separator[] = [];
  const seen = new Set<number>();
  const draw = (at: number, rect: Rect, depth: number): void => {
    const node = window.nodes[at];
    if (!node || seen.has(at) || depth > depthMax) return;
    seen.add(at);
    if (node.kind === 'pane') {
      if (node.pane) tiles.set(node.pane, rect);
      return;
    }
    const axis = node.axis === 'rows' ? 'rows' : 'cols';
    const ratio = held?.node === at ? held.ratio : (node.ratio ?? 5000);
    const [first, second] = divide(rect, axis, ratio / 10_000);
    separators.push({ node: at, axis, rect, ratio, pane: paneNextTo(window, at, axis) });
    draw(node.first ?? -1, first, depth + 1);
    draw(node.second ?? -1, second, depth + 1);
  };
  draw(0, { x: 0, y: 0, w: 1, h: 1 }, 0);
  return { tiles, separators };
}

function divide({ x, y, w, h }: Rect, axis: 'cols' | 'rows', share: number): [Rect, Rect] {
  if (axis === 'cols') {
    return [
      { x, y, w: w * share, h },
      { x: x + w * share, y, w: w * (1 - share), h },
    ];
  }
  return [
    { x, y, w, h: h * share },
    { x, y: y + h * share, w, h: h * (1 - share) },
  ];
}

/** A pane below the split, with no other split of the same axis between. */
function paneNextTo(window: Window, split: number, axis: string): string {
  const below = [window.nodes[split]?.first, window.nodes[split]?.second];
  for (let steps = 0; below.length > 0 && steps < window.nodes.length * 2; steps++) {
    const node = window.nodes[below.shift() ?? -1];
    if (node?.kind === 'pane') return node.pane ?? '';
    if (node && node.axis !== axis) below.push(node.first, node.second);
  }
  return '';
}

/** The panes of a window: tiles in the order of its tree, then floats from the back to the front. */
export function panesOf(window: Window): string[] {
  return [...layoutOf(window).tiles.keys(), ...window.floats];
}

/** Where a float is drawn. The host says how large its terminal is, not where it goes. */
export function floatRect(place: number): Rect {
  const step = Math.min(place, 5) * 0.03;
  return { x: 0.14 + step, y: 0.1 + step, w: 0.68, h: 0.7 };
}

export interface Tab {
  /** Its window's id; a pane's while its window is not known. */
  key: string;
  window: Window | null;
  session: string;
  panes: string[];
}

/** One tab for each window, by session; a pane whose window is not known yet has one of its own. */
export function tabsOf(
  windows: readonly Window[],
  sessions: readonly Session[],
  panes: readonly { id: string; window: string }[],
): Tab[] {
  const names = new Map(sessions.map(({ session, name }) => [session, name]));
  const left = new Map(panes.map((pane) => [pane.id, pane.window]));
  const tabs: Tab[] = [];
  for (const window of windows) {
    const placed = panesOf(window).filter((id) => left.delete(id));
    for (const [id, of] of left) if (of === window.window && left.delete(id)) placed.push(id);
    if (placed.length === 0) continue;
    const session = names.get(window.session) ?? window.session;
    tabs.push({ key: window.window, window, session, panes: placed });
  }
  for (const id of left.keys()) tabs.push({ key: id, window: null, session: '', panes: [id] });
  return tabs;
}
