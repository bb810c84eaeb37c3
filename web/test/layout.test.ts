// SPDX-License-Identifier: Apache-2.0
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FakeWindows, placedAs } from '../fake/windows';
import { floatBox, layoutOf, movedBy, offsetAt, panesOf, tabsOf } from '../src/app/layout';
import type { Node, Placed, Window } from '../src/wire/verbs';

function windowOf(nodes: Node[], more: Partial<Window> = {}): Window {
  const none = { name: '', floats: [], active: '', zoomed: '', revision: 1 };
  return { window: 'w0', session: 's0', nodes, ...none, ...more };
}

const leaf = (pane: string): Node => ({ kind: 'pane', pane });

describe('layoutOf', () => {
  test('divides by ratio and axis, and knows a pane next to each line', () => {
    const window = windowOf([
      { kind: 'split', axis: 'cols', first: 1, second: 2, ratio: 2500 },
      leaf('p0'),
      { kind: 'split', axis: 'rows', first: 3, second: 4 },
      leaf('p1'),
      leaf('p2'),
    ]);
    const { tiles, separators } = layoutOf(window);
    expect(tiles.get('p0')).toEqual({ x: 0, y: 0, w: 0.25, h: 1 });
    expect(tiles.get('p1')).toEqual({ x: 0.25, y: 0, w: 0.75, h: 0.5 });
    expect(tiles.get('p2')).toEqual({ x: 0.25, y: 0.5, w: 0.75, h: 0.5 });
    expect(separators.map(({ axis, pane, ratio }) => [axis, pane, ratio])).toEqual([
      ['cols', 'p0', 2500],
      ['rows', 'p1', 5000],
    ]);
    const held = layoutOf(window, { node: 0, ratio: 5000 });
    expect(held.tiles.get('p0')?.w).toBe(0.5);
  });

  test('a line with nothing but splits of its axis on both sides cannot be moved', () => {
    const inner = (first: number): Node => ({
      kind: 'split',
      axis: 'cols',
      first,
      second: first + 1,
    });
    const window = windowOf([
      { kind: 'split', axis: 'cols', first: 1, second: 2 },
      inner(3),
      inner(5),
      ...['p0', 'p1', 'p2', 'p3'].map(leaf),
    ]);
    expect(layoutOf(window).separators.map((s) => s.pane)).toEqual(['', 'p0', 'p2']);
  });

  test('the tiles of any tree cover its area once', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(), fc.boolean()), { maxLength: 20 }), (splits) => {
        const fake = new FakeWindows();
        fake.add('w0', 'p0');
        splits.forEach(([at, cols], place) => {
          fake.split(`p${at % (place + 1)}`, cols ? 'cols' : 'rows', `p${place + 1}`);
        });
        const { tiles, separators } = layoutOf(fake.windows[0] as Window);
        const area = [...tiles.values()].reduce((sum, { w, h }) => sum + w * h, 0);
        expect(tiles.size).toBe(splits.length + 1);
        expect(separators).toHaveLength(splits.length);
        expect(area).toBeCloseTo(1, 9);
      }),
    );
  });

  test('what is no tree is drawn as far as it is one', () => {
    const loop = windowOf([{ kind: 'split', axis: 'cols', first: 0, second: 1 }, leaf('p0')]);
    expect([...layoutOf(loop).tiles.keys()]).toEqual(['p0']);
    expect(layoutOf(windowOf([])).tiles.size).toBe(0);
    expect(layoutOf(windowOf([{ kind: 'split', first: 9, second: -1 }])).tiles.size).toBe(0);
  });
});

describe('floatBox', () => {
  // 100 cells of 10 by 50 of 20, and what lies around those of a tile that has it all.
  const area = { width: 1018, height: 1012 };
  const cell = { width: 10, height: 20 };
  const box = (more: Partial<Placed>) => {
    const { left, top, width, height } = floatBox(placedAs(more), area, cell);
    return [left, top, width, height];
  };
  // Around the cells: 18 by 12, a pixel of slack, the border on both sides, and 24 for the title.
  test.each<[string, Partial<Placed>, number[]]>([
    ['shares of the window', {}, [199, 187, 621, 639]],
    ['cells', { width: '40', height: '10' }, [299, 387, 421, 239]],
    ['no border, and no title then', { border: 'none', title: 'x' }, [200, 200, 619, 613]],
    ['a double border', { border: 'double' }, [197, 185, 625, 643]],
    ['an anchor', { anchor: 'bottom_right' }, [397, 373, 621, 639]],
    ['an offset in cells', { anchor: 'top_left', x: 3, y: 2 }, [30, 40, 621, 639]],
    ['as far back as it takes', { anchor: 'right', x: 9, y: -99 }, [397, 0, 621, 639]],
    ['least sizes', { width: '1', height: '1%' }, [399, 437, 221, 139]],
    ['as small as it takes', { width: '900', height: '100%' }, [4, 7, 1011, 999]],
  ])('%s', (_, more, want) => {
    expect(box(more)).toEqual(want);
  });

  test('lies in any area, whatever is asked', () => {
    const extent = fc.oneof(fc.integer({ min: 1, max: 65535 }).map(String), fc.constant('100%'));
    const offset = fc.integer({ min: -4096, max: 4096 });
    fc.assert(
      fc.property(extent, extent, offset, offset, fc.nat(2000), (width, height, x, y, side) => {
        const box = floatBox(
          placedAs({ width, height, x, y }),
          { width: side, height: side },
          cell,
        );
        expect(Math.min(box.left, box.top, box.width, box.height)).toBeGreaterThanOrEqual(0);
        expect(box.left + box.width).toBeLessThanOrEqual(side);
        expect(box.top + box.height).toBeLessThanOrEqual(side);
      }),
    );
  });

  test('what is carried elsewhere is drawn there', () => {
    const place = fc.integer({ min: -3000, max: 3000 });
    const anchor = fc.constantFrom<Placed['anchor']>('top_left', 'center', 'bottom', 'right');
    fc.assert(
      fc.property(anchor, place, place, (at, x, y) => {
        const float = placedAs({ anchor: at, x: 9, y: -9 });
        const carried = movedBy(floatBox(float, area, cell), { x, y }, area);
        const drawn = floatBox({ ...float, ...offsetAt(float, carried, area, cell) }, area, cell);
        expect(Math.abs(drawn.left - carried.left)).toBeLessThanOrEqual(cell.width / 2 + 1);
        expect(Math.abs(drawn.top - carried.top)).toBeLessThanOrEqual(cell.height / 2 + 1);
        expect(carried.left + carried.width).toBeLessThanOrEqual(area.width);
      }),
    );
  });

  test('what is no float of ours is drawn nevertheless', () => {
    const odd = { width: 'x', anchor: 'y', border: 'z' } as unknown as Partial<Placed>;
    expect(box(odd).every(Number.isFinite)).toBe(true);
  });
});

describe('tabsOf', () => {
  const sessions = [
    { session: 's0', name: 'work', windows: ['w0'] },
    { session: 's1', name: 'play', windows: ['w1'] },
  ];
  test('a tab is a window; what is not known yet stands alone or joins its window', () => {
    const windows = [
      windowOf([leaf('p0')], { floats: [placedAs({ pane: 'p3' })] }),
      windowOf([leaf('p9')], { window: 'w1', session: 's1' }),
    ];
    const panes = [
      { id: 'p0', window: 'w0' },
      { id: 'p1', window: 'w0' },
      { id: 'p3', window: 'w0' },
      { id: 'p4', window: 'w7' },
    ];
    const tabs = tabsOf(windows, sessions, panes);
    expect(tabs.map(({ key, session, panes: ids }) => [key, session, ids])).toEqual([
      ['w0', 'work', ['p0', 'p3', 'p1']],
      ['p4', '', ['p4']],
    ]);
    expect(panesOf(windows[0] as Window)).toEqual(['p0', 'p3']);
    expect(tabsOf([], [], panes).map(({ key }) => key)).toEqual(['p0', 'p1', 'p3', 'p4']);
  });
});
