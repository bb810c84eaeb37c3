// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import { placedAs } from '../fake/windows';
import { labelOf, titleOf } from '../src/app/label';
import type { PaneInfo } from '../src/wire/ctl';
import type { Node, Window } from '../src/wire/verbs';

const leaf = (pane: string): Node => ({ kind: 'pane', pane });
const windowAs = (window: string, more: Partial<Window>): Window => {
  const none = { name: '', nodes: [], floats: [], active: '', zoomed: '', revision: 1 };
  return { window, session: 's0', ...none, ...more };
};
const windows = [
  windowAs('w0', { name: 'build', nodes: [leaf('p0')] }),
  windowAs('w4', { session: 's1', nodes: [leaf('p4')] }),
  windowAs('w1', { nodes: [leaf('p1')] }),
  windowAs('w2', {
    nodes: [{ kind: 'split', axis: 'cols', first: 1, second: 2 }, leaf('p2'), leaf('p3')],
    floats: [placedAs({ pane: 'p5', title: 'log' }), placedAs({ pane: 'p6', z: 2 })],
  }),
];
const sessions = [{ session: 's0', name: 'work', windows: ['w0', 'w1', 'w2'] }];

const label = (id: string, window: string, more: Partial<PaneInfo> = {}) => {
  const size = { cols: 80, rows: 24, index: 0 };
  const nothing = { name: '', title: '', argv0: '', foreground: '', exit_code: null, signal: '' };
  const info = {
    id,
    window,
    state: 'lost',
    archive: null,
    ...size,
    ...nothing,
    ...more,
  } as PaneInfo;
  return labelOf(info, windows, sessions);
};

test('a pane is called by what is known of it, the nearest first', () => {
  const all = { name: 'mine', title: 'vi notes', foreground: 'vi' };
  expect(label('p5', 'w2', all)).toBe('mine');
  expect(label('p5', 'w2', { ...all, name: '' })).toBe('log');
  expect(label('p2', 'w2', { ...all, name: '' })).toBe('vi notes');
  expect(label('p2', 'w2', { foreground: 'vi', argv0: 'bash' })).toBe('vi');
  expect(label('p2', 'w2', { argv0: 'bash' })).toBe('bash');
});

test('a record, of which nothing else was kept, is called by its place', () => {
  expect(label('p0', 'w0')).toBe('build');
  expect(label('p1', 'w1')).toBe('work 2');
  expect(label('p3', 'w2')).toBe('work 3 (2 of 4)');
  expect(label('p6', 'w2')).toBe('work 3 (4 of 4)');
  expect(label('p4', 'w4')).toBe('s1 1');
  expect(label('p9', 'w9')).toBe('p9');
});

test('nothing of it can disguise what it is', () => {
  expect(label('p0', 'w0', { name: '\u202e', title: '\u202eevil\n' })).not.toMatch(/[\u202e\n]/);
});

test('the page is called by what is shown, with a mark when something asks', () => {
  expect(titleOf(null, false)).toBe('spawn');
  expect(titleOf('build', false)).toBe('build — spawn');
  expect(titleOf('build', true)).toBe('● build — spawn');
});
