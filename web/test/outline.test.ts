// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from 'vitest';
import { FakeRecords } from '../fake/records';
import { drawnMax, linesOf } from '../src/app/outline';
import type { Outline, OutlinedPane } from '../src/wire/verbs';

function outlineOf(panes: number, windows = 1): Outline {
  const end = { process_state: 'exited', exit_code: null, signal: '', text_state: 'omitted' };
  return {
    sessions: [{ session: 's4', name: '' }],
    windows: Array.from({ length: windows }, (_, n) => ({
      window: `w${n}`,
      session: 's4',
      name: '',
      nodes: [],
    })),
    panes: Array.from({ length: panes }, (_, n) => {
      const pane = { pane: `p${n}`, window: `w${n % windows}`, cols: 80, rows: 24, ...end };
      return pane as OutlinedPane;
    }),
  };
}

describe('what a restore would make', () => {
  test('sessions, windows, tiles by their numbers, floats with their titles; ends as they were seen', () => {
    const records = new FakeRecords();
    const leading = records.list.find((at) => at.leading)?.checkpoint ?? '';
    const { topology } = records.inspect(leading, true);
    const { sessions, left } = linesOf(topology as Outline);
    expect(left).toBe(0);
    expect(sessions.map(({ name }) => name)).toEqual(['work']);
    const [build, second] = sessions[0]?.windows ?? [];
    expect(build?.name).toBe('build');
    expect(build?.tiles).toEqual([
      { x: 0, y: 0, w: 0.625, h: 1 },
      { x: 0.625, y: 0, w: 0.375, h: 1 },
    ]);
    expect(build?.panes.map(({ number, text }) => [number, text])).toEqual([
      [1, 'interrupted, and may run still; its text was kept; 80×24'],
      [2, 'exited with 3; its text was kept; 80×24'],
    ]);
    expect(second).toMatchObject({ name: 'work 2', tiles: [] });
    expect(second?.panes.map(({ number, text }) => [number, text])).toEqual([
      [0, 'float “log”; interrupted, and may run still; its text has expired; 80×24'],
    ]);
  });

  test('tiles are numbered by the tree, whatever their ids, and floats follow', () => {
    const outline = outlineOf(3);
    (outline.windows[0] as Outline['windows'][0]).nodes = [
      { kind: 'split', axis: 'rows', first: 1, second: 2 },
      { kind: 'pane', pane: 'p2' },
      { kind: 'pane', pane: 'p1' },
    ];
    const panes = linesOf(outline).sessions[0]?.windows[0]?.panes ?? [];
    expect(panes.map(({ id, number }) => [id, number])).toEqual([
      ['p2', 1],
      ['p1', 2],
      ['p0', 0],
    ]);
  });

  test('names are of a file: nothing in them can disguise what they are', () => {
    const outline = outlineOf(1);
    (outline.sessions[0] as Outline['sessions'][0]).name = '\u202eevil';
    (outline.windows[0] as Outline['windows'][0]).name = 'a\nb\u202e';
    (outline.panes[0] as OutlinedPane).title = '\u202etitle';
    const drawn = JSON.stringify(linesOf(outline).sessions);
    expect(drawn).toContain('evil');
    expect(drawn).not.toMatch(/\u202e|\\n/);
  });

  test('no more is drawn than a person reads, and what is not is counted', () => {
    expect(linesOf(outlineOf(drawnMax, drawnMax)).left).toBe(0);
    const { sessions, left } = linesOf(outlineOf(4000, 2000));
    expect(left).toBe(4000 - drawnMax);
    expect(sessions[0]?.windows).toHaveLength(drawnMax / 2);
    expect(linesOf(outlineOf(drawnMax + 1)).left).toBe(drawnMax + 1);
    expect(linesOf({ sessions: [], windows: [], panes: [] })).toEqual({ sessions: [], left: 0 });
  });
});
