// SPDX-License-Identifier: Apache-2.0

// Where the panes of a window go: tiles as parts of its area from 0 to 1, floats in
// CSS pixels. Nothing here trusts the tree: what is no tree of panes is left out.

import type { Placed, Session, Window } from '../wire/verbs';

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

/** What of a window its tiles are drawn from. */
type Tree = Pick<Window, 'nodes'>;

/** Draws a window's tree. `held` is a ratio that a drag has changed and the host does not know yet. */
export function layoutOf(window: Tree, held?: { node: number; ratio: number }): Layout {
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
function paneNextTo(window: Tree, split: number, axis: string): string {
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
  return [...layoutOf(window).tiles.keys(), ...window.floats.map(({ pane }) => pane)];
}

/** A size in CSS pixels. */
export interface Extent {
  width: number;
  height: number;
}

/** A place in the stage, in CSS pixels. */
export interface Box extends Extent {
  left: number;
  top: number;
}

/** What lies between a pane's edge and its cells at a desk: the inset of .screen in style.css. */
const inset: Extent = { width: 18, height: 12 };

/** How much lower a float's cells begin below its title: .titled > .screen in style.css. */
const titleHeight = 24;

/** Cells are measured over a whole row, whose width is rounded: what a float gets beyond its cells. */
const slack = 1;

const borderWidths: Record<Placed['border'], number> = {
  none: 0,
  single: 1,
  rounded: 1,
  heavy: 2,
  double: 3,
};

const anchors: readonly Placed['anchor'][] = [
  'top_left',
  'top',
  'top_right',
  'left',
  'center',
  'right',
  'bottom_left',
  'bottom',
  'bottom_right',
];

/**
 * Where a float is drawn: its size in cells, its anchor, its offset, and then as
 * small and as far back as it takes to lie in the area. The host works it out so too.
 */
export function floatBox(float: Placed, area: Extent, cell: Extent): Box {
  const edges = 2 * (borderWidths[float.border] ?? 0);
  const titled = isTitled(float) ? titleHeight : 0;
  const [across, down] = thirdsOf(float.anchor);
  const wide = { cells: float.width, least: float.min_cols, by: float.x, third: across };
  const high = { cells: float.height, least: float.min_rows, by: float.y, third: down };
  const [left, width] = along(wide, area.width, cell.width, inset.width, edges);
  const [top, height] = along(high, area.height, cell.height, inset.height, edges + titled);
  return { left, top, width, height };
}

/** The offset from its anchor, in cells, with which a float is drawn at about this place. */
export function offsetAt(
  float: Placed,
  box: Box,
  area: Extent,
  cell: Extent,
): { x: number; y: number } {
  const [across, down] = thirdsOf(float.anchor);
  const x = (box.left - ((area.width - box.width) * across) / 2) / cell.width;
  const y = (box.top - ((area.height - box.height) * down) / 2) / cell.height;
  return { x: Math.round(x), y: Math.round(y) };
}

/** The box, moved by so many pixels and no farther than the area goes. */
export function movedBy(box: Box, by: { x: number; y: number }, area: Extent): Box {
  const within = (at: number, room: number) => Math.min(Math.max(at, 0), Math.max(room, 0));
  const left = within(box.left + by.x, area.width - box.width);
  return { ...box, left, top: within(box.top + by.y, area.height - box.height) };
}

/** Where an anchor is: 0 at the beginning, 1 in the middle, 2 at the end, across and down. */
function thirdsOf(anchor: Placed['anchor']): [number, number] {
  const at = anchors.indexOf(anchor);
  return at < 0 ? [1, 1] : [at % 3, Math.floor(at / 3)];
}

/** A title stands in the border, so without one there is none. */
export function isTitled(float: Placed): boolean {
  return float.border !== 'none';
}

/** Place and length on one axis, in pixels. `third` is 0 at the beginning, 2 at the end. */
function along(
  float: { cells: string; least: number; by: number; third: number },
  area: number,
  cell: number,
  inset: number,
  frame: number,
): [number, number] {
  const fit = (pixels: number) => Math.max(1, Math.floor(pixels / cell));
  const asked = Math.max(cellsOf(float.cells, fit(area - inset)), float.least);
  const cells = Math.min(asked, fit(area - inset - frame - slack));
  const length = Math.min(Math.ceil(cells * cell) + slack + inset + frame, area);
  const room = area - length;
  const place = Math.round((room * float.third) / 2 + float.by * cell);
  return [Math.min(Math.max(place, 0), room), length];
}

/** An extent in an area of that many cells: "12" of them, or "60%". */
function cellsOf(extent: string, area: number): number {
  const n = Number.parseInt(extent, 10) || 1;
  return extent.endsWith('%') ? Math.floor((area * n) / 100) : n;
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
