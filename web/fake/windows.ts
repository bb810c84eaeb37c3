// SPDX-License-Identifier: Apache-2.0

// The pretended host's windows: trees of panes, as the verbs of places change them.

import type { Node, Placed, Session, Window } from '../src/wire/verbs';

/** A float of which nothing was asked but this. */
export function placedAs(more: Partial<Placed>): Placed {
  const place = { anchor: 'center', x: 0, y: 0 } as const;
  const size = { width: '60%', height: '60%', min_cols: 20, min_rows: 5 };
  return { pane: 'p1', z: 1, ...size, ...place, border: 'single', ...more };
}

export class FakeWindows {
  windows: Window[] = [];
  sessions: Session[] = [{ session: 's0', name: 'work', windows: [] }];

  /** A window of one pane. */
  add(window: string, pane: string, session = 's0'): void {
    const nodes: Node[] = [{ kind: 'pane', pane }];
    const none = { name: '', floats: [], zoomed: '' };
    this.windows.push({ window, session, revision: 1, nodes, active: pane, ...none });
  }

  of(pane: string): Window {
    const has = (w: Window) => [...w.floats, ...w.nodes].some((at) => at.pane === pane);
    return this.windows.find(has) as Window;
  }

  /** Replaces the leaf by a split of it and a new one; the places of nodes are made anew. */
  split(pane: string, axis: 'cols' | 'rows', made: string): void {
    const window = this.of(pane);
    const leaf = window.nodes.findIndex((node) => node.pane === pane);
    const at = window.nodes.length;
    window.nodes[leaf] = { kind: 'split', axis, first: at, second: at + 1 };
    window.nodes.push({ kind: 'pane', pane }, { kind: 'pane', pane: made });
    window.revision++;
  }

  float(window: string, pane: string, more: Partial<Placed> = {}): void {
    const at = this.windows.find((w) => w.window === window) as Window;
    const z = at.floats.length + 1;
    at.floats.push(placedAs({ pane, z, ...more }));
  }

  resize(pane: string, axis: string, ratio: number): Window {
    const window = this.of(pane);
    let at = window.nodes.findIndex((node) => node.pane === pane);
    do at = window.nodes.findIndex((node) => node.first === at || node.second === at);
    while (window.nodes[at]?.axis !== axis);
    (window.nodes[at] as Node).ratio = ratio;
    window.revision++;
    return window;
  }

  rename(id: string, name: string): Window {
    const window = this.windows.find((at) => at.window === id) as Window;
    window.name = name;
    return window;
  }

  focus(pane: string): Window {
    const window = this.of(pane);
    const float = window.floats.find((at) => at.pane === pane);
    window.active = pane;
    if (float) window.floats = [...window.floats.filter((at) => at !== float), float];
    else if (window.zoomed !== pane) window.zoomed = '';
    return window;
  }

  zoom(pane: string, off: boolean): Window {
    const window = this.of(pane);
    window.zoomed = off ? '' : pane;
    window.revision++;
    return window;
  }

  /** What is left when a pane goes: its neighbour takes the place of their split. */
  remove(pane: string): void {
    const window = this.of(pane);
    if (!window) return;
    window.floats = window.floats.filter((float) => float.pane !== pane);
    const leaf = window.nodes.findIndex((node) => node.pane === pane);
    const above = window.nodes.findIndex((node) => node.first === leaf || node.second === leaf);
    const split = window.nodes[above];
    if (leaf < 0) return;
    if (!split) this.windows = this.windows.filter((w) => w !== window);
    else {
      const other = (split.first === leaf ? split.second : split.first) ?? 0;
      window.nodes[above] = window.nodes[other] as Node;
    }
    window.revision++;
  }
}
