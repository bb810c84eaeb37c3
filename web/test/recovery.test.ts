// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from 'vitest';
import { inOrder, leadText } from '../src/app/leading';
import {
  insideText,
  Recovery,
  reason,
  recordText,
  shownMax,
  shutdownText,
  statusText,
} from '../src/app/recovery';
import { agoText } from '../src/app/times';
import { wordsOf } from '../src/app/words';
import { Ctl, CtlFailure } from '../src/link/ctl';
import type { PaneInfo } from '../src/wire/ctl';
import type { CheckpointStatus } from '../src/wire/verbs';
import { FakeRecords } from '../fake/records';

interface Params {
  checkpoint: string;
  topology?: boolean;
}

/** A host of checkpoints; what it refuses, it refuses with the code. */
class Host {
  records = new FakeRecords();
  /** The code of the refusal, and what it says. */
  refuse = new Map<string, string>();
  says = 'm';
  asked: string[] = [];
  readonly ctl: Ctl = new Ctl(
    (text) => queueMicrotask(() => this.#answer(JSON.parse(text))),
    () => {},
  );

  #answer({ id, verb, params }: { id: number; verb: string; params: Params }) {
    this.asked.push(verb);
    const code = this.refuse.get(verb);
    const { records } = this;
    let ok: unknown = {};
    if (verb === 'recovery.list') ok = { checkpoints: records.list };
    if (verb === 'recovery.inspect' && !code)
      ok = records.inspect(params.checkpoint, params.topology);
    if (verb === 'recovery.forget' && !code) records.forget(params.checkpoint);
    const error = { code, message: this.says, data: {} };
    this.ctl.receive(JSON.stringify(code ? { id, error } : { id, ok }));
  }
}

describe('Recovery', () => {
  test('lists the newest first, and looks only into what can be read', async () => {
    const host = new Host();
    const recovery = new Recovery(() => host.ctl);
    await recovery.load();
    const found = recovery.checkpoints.value ?? [];
    expect(found.map((at) => [at.generation, at.status])).toEqual([
      [12, 'valid'],
      [11, 'valid'],
      [9, 'expired'],
      [0, 'corrupt'],
    ]);
    expect(found.map((at) => at.inside !== null)).toEqual([true, true, false, false]);
    expect(host.asked.filter((verb) => verb === 'recovery.inspect')).toHaveLength(2);
  });

  test('one that expires between list and look says so', async () => {
    const host = new Host();
    host.refuse.set('recovery.inspect', 'conflict.checkpoint_expired');
    const recovery = new Recovery(() => host.ctl);
    await recovery.load();
    const [first] = recovery.checkpoints.value ?? [];
    expect(first).toMatchObject({ status: 'expired', leading: false, inside: null });
  });

  test('a host that does not serve it has none, and that is no failure', async () => {
    const host = new Host();
    host.refuse.set('recovery.list', 'unsupported.verb');
    const recovery = new Recovery(() => host.ctl);
    await recovery.load();
    expect(recovery.checkpoints.value).toBeNull();
    expect(recovery.failure.value).toBe('');
    host.refuse.set('recovery.list', 'unavailable.recovery_io');
    await recovery.load();
    expect(recovery.failure.value).toMatch(/could not be read/);
  });

  test('what could not be removed for good is told so, as the host says it', async () => {
    const host = new Host();
    host.refuse.set('recovery.forget', 'unavailable.recovery_io');
    host.says = 'remove checkpoints: whether they are gone for good is not known';
    const recovery = new Recovery(() => host.ctl);
    expect(await recovery.forget('c1')).toBe(false);
    expect(recovery.failure.value).toMatch(/: whether they are gone for good is not known\.$/);
  });

  test('shows the newest, and always the one that a person is led to', async () => {
    const host = new Host();
    const [, oldest] = host.records.list as [CheckpointStatus, CheckpointStatus];
    const more = Array.from({ length: shownMax + 2 }, (_, n) => ({
      ...oldest,
      generation: 20 + n,
    }));
    host.records.list = [{ ...oldest, generation: 11, leading: true }, ...more];
    const recovery = new Recovery(() => host.ctl);
    await recovery.load();
    const found = recovery.checkpoints.value ?? [];
    expect(found).toHaveLength(shownMax + 1);
    expect(found[0]?.generation).toBe(20 + shownMax + 1);
    expect(found.at(-1)).toMatchObject({ generation: 11, leading: true, status: 'valid' });
    expect(inOrder(found)[0]?.generation).toBe(11);
    expect(recovery.others.value).toBe(2);
  });

  test('one of which nobody knows more than that it was not read in time stays what it is', async () => {
    const host = new Host();
    host.refuse.set('recovery.inspect', 'unavailable.timeout');
    const recovery = new Recovery(() => host.ctl);
    await recovery.load();
    const [first] = recovery.checkpoints.value ?? [];
    expect(first).toMatchObject({ status: 'valid', leading: true, inside: null });
    host.refuse.set('recovery.inspect', 'not_found.checkpoint');
    await recovery.load();
    expect(recovery.checkpoints.value?.map((at) => at.generation)).toEqual([9, 0]);
  });

  test.each([
    ['unsupported.checkpoint_format', 'Written by another version of spawnd'],
    ['unsupported.checkpoint_size', 'Larger than this spawnd reads'],
    ['toString', 'Written by another version of spawnd, or larger than this one reads'],
  ])('why one is incompatible is asked for: %s', async (code, text) => {
    const host = new Host();
    host.records.list = [{ checkpoint: 'c9', status: 'incompatible' }];
    host.refuse.set('recovery.inspect', code);
    const recovery = new Recovery(() => host.ctl);
    await recovery.load();
    const [only] = recovery.checkpoints.value ?? [];
    expect(only && statusText(only)).toBe(text);
  });

  test('what one would make is asked for by itself, and what cannot be told says why', async () => {
    const host = new Host();
    const recovery = new Recovery(() => host.ctl);
    await recovery.load();
    const [first] = recovery.checkpoints.value ?? [];
    expect(first?.inside).not.toHaveProperty('topology');
    const outline = await recovery.outline(first?.id ?? '');
    expect(outline).toMatchObject({ sessions: [{ name: 'work' }] });
    host.refuse.set('recovery.inspect', 'conflict.checkpoint_expired');
    expect(await recovery.outline(first?.id ?? '')).toMatch(/^It is too old/);
    expect(await new Recovery(() => null).outline('c1')).toBe('Not connected.');
  });

  test('what was not done is told in words, and the list is asked for again', async () => {
    const host = new Host();
    host.refuse.set('recovery.restore', 'conflict.not_empty');
    const recovery = new Recovery(() => host.ctl);
    expect(await recovery.restore('c1')).toBe(false);
    expect(recovery.failure.value).toMatch(/There are terminals already/);
    expect(recovery.checkpoints.value).toHaveLength(4);
    const gone = recovery.checkpoints.value?.[3]?.id ?? '';
    expect(await recovery.forget(gone)).toBe(true);
    expect(recovery.failure.value).toBe('');
    expect(recovery.checkpoints.value).toHaveLength(3);
    const offline = new Recovery(() => null);
    expect(await offline.restore('c1')).toBe(false);
    expect(offline.failure.value).toBe('Not connected.');
  });
});

describe('the checkpoint that a person is led to', () => {
  const listed = async (change: (records: FakeRecords) => void = () => {}) => {
    const host = new Host();
    change(host.records);
    const recovery = new Recovery(() => host.ctl);
    await recovery.load();
    return recovery.checkpoints.value ?? [];
  };

  test('is the newest, and that is said where there are several', async () => {
    const all = await listed();
    expect(inOrder(all).map((at) => at.generation)).toEqual([12, 11, 9, 0]);
    expect(inOrder(all).map((at) => leadText(at, all))).toEqual([
      'Start with this one: it is the newest.',
      '',
      '',
      '',
    ]);
    const alone = all.filter((at) => at.generation !== 11);
    expect(alone.map((at) => leadText(at, alone))).toEqual(['', '', '']);
  });

  test('is an older one when the newest is what a shutdown left, which is said of both', async () => {
    const all = await listed((records) => records.dwindle());
    expect(inOrder(all).map((at) => at.generation)).toEqual([12, 13, 11, 9, 0]);
    expect(inOrder(all).map((at) => leadText(at, all))).toEqual([
      'Start with this one: the newer one looks like what was left while the host was shutting down.',
      'Probably what was left while the host was shutting down: 1 of 3 terminals, saved a little later.',
      '',
      '',
      '',
    ]);
    const asMany = all.map((at) => (at.generation === 13 ? { ...at, panes: 3, running: 0 } : at));
    const textless = asMany.map((at) => ({ ...at, texts: at.leading ? 3 : 1 }));
    expect(leadText(textless[0] as (typeof asMany)[0], textless)).toMatch(/: 1 of 3 texts,/);
    expect(leadText(asMany[0] as (typeof asMany)[0], asMany)).toMatch(
      /: 0 of 2 running terminals,/,
    );
  });

  test('is nobody where the host says nothing of it', async () => {
    const all = (await listed()).map((at) => ({ ...at, leading: false }));
    expect(all.map((at) => leadText(at, all)).join('')).toBe('');
  });

  test('what ran is told as it was seen', async () => {
    const [open, clean] = await listed();
    if (!open || !clean) throw new Error('there are two');
    expect(shutdownText(open)).toBe(
      'Saved while 2 terminals ran: they were interrupted, or may run still.',
    );
    expect(shutdownText({ ...open, running: 1 })).toMatch(/1 terminal ran: it was interrupted/);
    expect(shutdownText({ ...open, running: 0 })).toBe('Saved when nothing ran in it.');
    expect(shutdownText(clean)).toBe('Saved at a clean end: every program had ended.');
  });
});

describe('how long ago', () => {
  const now = Date.UTC(2026, 10, 30, 7, 0, 0);
  test.each([
    [0, 'just now'],
    [59_999, 'just now'],
    [60_000, '1 minute ago'],
    [59 * 60_000 + 59_999, '59 minutes ago'],
    [3_600_000, '1 hour ago'],
    [23.9 * 3_600_000, '23 hours ago'],
    [24 * 3_600_000, 'yesterday'],
    [9 * 86_400_000, '9 days ago'],
    [-59_999, 'just now'],
    [-2 * 3_600_000, 'in 2 hours'],
  ])('%d ms', (past, text) => {
    expect(agoText(now - past, now)).toBe(text);
  });
});

describe('words of recovery', () => {
  const inside = {
    checkpoint: 'c',
    generation: 1,
    shutdown: 'open' as const,
    sessions: 1,
    windows: 2,
    panes: 3,
    text_panes: 3,
    expired_text_panes: 0,
  };
  // The host counts texts that may be read and expired ones apart.
  test.each([
    [3, 0, 'the text of all of them'],
    [2, 0, 'the text of 2 of them'],
    [2, 1, 'the text of 2 of them; 1 expired'],
    [1, 2, 'the text of 1 of them; 2 expired'],
    [0, 3, 'the text of none of them; 3 expired'],
    [0, 0, 'no text was kept'],
  ])('%d texts and %d expired', (text_panes, expired_text_panes, text) => {
    const told = insideText({ ...inside, text_panes, expired_text_panes });
    expect(told).toBe(`1 session, 2 windows, 3 terminals; ${text}`);
  });

  test('the pretended host counts as a real one does', () => {
    const records = new FakeRecords();
    const of = (n: number) => records.inspect(records.list[n]?.checkpoint ?? '');
    expect(insideText(of(2))).toMatch(/3 terminals; the text of 2 of them; 1 expired$/);
    expect(insideText(of(1))).toMatch(/3 terminals; no text was kept$/);
  });

  const info: PaneInfo = {
    id: 'p0',
    name: '',
    title: '',
    state: 'lost',
    cols: 80,
    rows: 24,
    exit_code: null,
    signal: '',
    argv0: '',
    foreground: '',
    window: 'w0',
    index: 0,
    archive: {
      checkpoint: 'c',
      previous_pane: 'p4',
      process_state: 'interrupted',
      text_state: 'plain',
      cut_rows: 0,
    },
  };
  const archive = info.archive as NonNullable<PaneInfo['archive']>;
  test('a record is told as one, never as a terminal or a success', () => {
    expect(recordText(info, 'work 2')).toBe(
      'Record of work 2; it was interrupted, and may run still.',
    );
    expect(
      recordText(
        {
          ...info,
          exit_code: 3,
          archive: { ...archive, process_state: 'exited', text_state: 'expired', cut_rows: 1 },
        },
        'work 2',
      ),
    ).toBe('Record of work 2; it had exited with 3; its text has expired; 1 row cut at the edge.');
    expect(
      recordText({ ...info, archive: { ...archive, process_state: 'exited' } }, 'work 2'),
    ).toBe('Record of work 2; it had ended, nobody knows how.');
    expect(recordText({ ...info, archive: null }, 'work 2')).toBe('');
  });

  test('every failure has words, and no code is taken for a property of all objects', () => {
    expect(reason(new CtlFailure('toString', 'as the host says'))).toBe('as the host says');
    expect(reason(new Error('x'))).toBe('That did not work.');
    expect(statusText({ status: 'valid', refused: '' })).toBe('Can be restored');
  });
});

describe('a command line is split as a shell does', () => {
  test.each([
    ['', []],
    ['  ls   -l ', ['ls', '-l']],
    ["env 'A=b c' x", ['env', 'A=b c', 'x']],
    ['a"b c"d', ['ab cd']],
    ["''", ['']],
    ['"" x', ['', 'x']],
    ['a\\ b', ['a b']],
    ['"a\\"b\\n"', ['a"b\\n']],
    ["'a\\'", ['a\\']],
    ['$HOME *', ['$HOME', '*']],
    ["'open", null],
    ['"open', null],
    ['open\\', null],
  ])('%j', (line, words) => {
    expect(wordsOf(line)).toEqual(words);
  });
});
