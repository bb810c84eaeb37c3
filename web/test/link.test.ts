// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { linkStatus } from '../src/app/status';
import { backoffMaxMs, backoffMinMs, backoffMs } from '../src/link/backoff';
import { Ctl, CtlFailure, failedWith, requestTimeoutMs, verbTimeoutMs } from '../src/link/ctl';
import { LinkError, type LinkFailure } from '../src/link/errors';
import { Link, type LinkState } from '../src/link/link';
import type { Session } from '../src/link/peer';
import { toB64 } from '../src/wire/b64';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

class World {
  attempts: { ok(): FakeSession; fail(failure: LinkFailure): void }[] = [];
  states: LinkState[] = [];
  link = new Link({
    connect: () =>
      new Promise((resolve, reject) => {
        this.attempts.push({
          ok: () => {
            const session = new FakeSession();
            resolve(session as unknown as Session);
            return session;
          },
          fail: (failure) => reject(new LinkError(failure, 'test')),
        });
      }),
    now: () => Date.now(),
    random: () => 0,
  });

  constructor() {
    this.link.onState = (state) => this.states.push(state);
  }

  get last() {
    return this.attempts[this.attempts.length - 1] as World['attempts'][number];
  }
}

class FakeSession {
  onLost: () => void = () => {};
  doubted = 0;
  closed = 0;
  doubt(): void {
    this.doubted++;
  }
  close(): void {
    this.closed++;
  }
}

const settle = () => vi.advanceTimersByTimeAsync(0);

describe('backoff', () => {
  test('grows by a quarter to two seconds and stays there', () => {
    const waits = [0, 1, 2, 3, 13, 14, 1e9].map((n) => backoffMs(n, () => 0));
    expect(waits).toEqual([100, 125, 156, 195, 1819, 2000, 2000]);
  });
  test('chance takes at most a quarter off', () => {
    expect(backoffMs(0, () => 0.999)).toBeGreaterThanOrEqual(backoffMinMs * 0.75);
    expect(backoffMs(50, () => 0.999)).toBeGreaterThanOrEqual(backoffMaxMs * 0.75);
  });
});

describe('Link', () => {
  test('connects, and comes back by itself after a loss', async () => {
    const world = new World();
    world.link.start();
    const session = world.last.ok();
    await settle();
    expect(world.link.state.phase).toBe('up');
    session.onLost();
    expect(world.link.state.phase).toBe('waiting');
    await vi.advanceTimersByTimeAsync(backoffMinMs);
    expect(world.attempts).toHaveLength(2);
    world.last.ok();
    await settle();
    expect(world.link.state.phase).toBe('up');
  });

  test('waits longer each time, from the start again after a success', async () => {
    const world = new World();
    world.link.start();
    for (const wait of [100, 125, 156, 195]) {
      const before = world.attempts.length;
      world.last.fail('unreachable');
      await settle();
      await vi.advanceTimersByTimeAsync(wait - 1);
      expect(world.attempts).toHaveLength(before);
      await vi.advanceTimersByTimeAsync(1);
      expect(world.attempts).toHaveLength(before + 1);
    }
    const session = world.last.ok();
    await settle();
    session.onLost();
    await vi.advanceTimersByTimeAsync(100);
    expect(world.attempts).toHaveLength(6);
  });

  test('a wake tries at once while waiting, and asks the host when up', async () => {
    const world = new World();
    world.link.start();
    for (let i = 0; i < 6; i++) {
      world.last.fail('unreachable');
      await vi.advanceTimersByTimeAsync(backoffMaxMs);
    }
    world.last.fail('unreachable');
    await settle();
    const before = world.attempts.length;
    world.link.wake();
    expect(world.attempts).toHaveLength(before + 1);
    const session = world.last.ok();
    await settle();
    world.link.wake();
    expect(session.doubted).toBe(1);
    expect(world.attempts).toHaveLength(before + 1);
  });

  test('a wake leaves a young attempt alone and replaces one that hangs', async () => {
    const world = new World();
    world.link.start();
    world.link.wake();
    expect(world.attempts).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(3001);
    world.link.wake();
    expect(world.attempts).toHaveLength(2);
    const late = world.attempts[0]?.ok();
    await settle();
    expect(late?.closed).toBe(1);
    expect(world.link.state.phase).toBe('connecting');
  });

  test.each([
    'unpaired',
    'unknown_device',
    'pair_invalid',
    'identity_changed',
    'protocol',
    'unsupported',
  ] as const)('%s is not tried again until somebody says so', async (failure) => {
    const world = new World();
    world.link.start();
    world.last.fail(failure);
    await vi.advanceTimersByTimeAsync(60_000);
    world.link.wake();
    expect(world.attempts).toHaveLength(1);
    expect(world.link.state).toEqual({ phase: 'halted', failure });
    world.link.start();
    expect(world.attempts).toHaveLength(2);
  });
});

describe('the status line', () => {
  const at = 100_000;
  const waiting = (failure: LinkFailure | null, seconds: number): LinkState => ({
    phase: 'waiting',
    since: at - seconds * 1000,
    failure,
  });
  test.each([
    [{ phase: 'up', session: {} as Session } as LinkState, true, 'Connected'],
    [waiting(null, 0), false, 'Connecting (0 s)'],
    [waiting(null, 7), true, 'Reconnecting (7 s)'],
    [waiting('unreachable', 2), true, 'Reconnecting (2 s)'],
    [waiting('unreachable', 4), true, 'Host not reachable (4 s)'],
    [{ phase: 'halted', failure: 'unpaired' } as LinkState, false, 'Not paired'],
    [{ phase: 'halted', failure: 'identity_changed' } as LinkState, true, 'Identity changed'],
  ])('%#', (state, known, text) => {
    expect(linkStatus(state, known, at).text).toBe(text);
  });
});

describe('Ctl', () => {
  test('matches answers to requests, in any order', async () => {
    const sent: string[] = [];
    const ctl = new Ctl(
      (text) => sent.push(text),
      () => {},
    );
    const a = ctl.request('ping', {});
    const b = ctl.call('pair.new', {});
    expect(JSON.parse(sent[1] as string)).toEqual({ id: 2, verb: 'pair.new', params: {} });
    ctl.receive('{"id":2,"ok":{"url":"u"}}');
    ctl.receive('{"id":1,"ok":{}}');
    ctl.receive('{"id":99,"ok":{}}');
    expect(await b).toEqual({ url: 'u' });
    expect(await a).toEqual({});
  });

  test('fails with the host’s code, with time, and with the connection', async () => {
    const ctl = new Ctl(
      () => {},
      () => {},
    );
    const refused = ctl.request('ping', {});
    ctl.receive('{"id":1,"error":{"code":"denied.not_controller","message":"m"}}');
    await expect(refused).rejects.toMatchObject({ code: 'denied.not_controller' });
    const slow = ctl.request('ping', {});
    const timed = expect(slow).rejects.toMatchObject({ code: 'timeout' });
    await vi.advanceTimersByTimeAsync(requestTimeoutMs);
    await timed;
    const cut = ctl.request('ping', {});
    ctl.end();
    await expect(cut).rejects.toBeInstanceOf(CtlFailure);
    await expect(ctl.request('ping', {})).rejects.toMatchObject({ code: 'closed' });
  });

  test('a verb is asked by its name, and its failure is told by code with its data', async () => {
    const sent: string[] = [];
    const ctl = new Ctl(
      (text) => sent.push(text),
      () => {},
    );
    const renamed = ctl.call('pane.rename', { pane: 'p0', name: 'build' });
    expect(JSON.parse(sent[0] as string)).toEqual({
      id: 1,
      verb: 'pane.rename',
      params: { pane: 'p0', name: 'build' },
    });
    ctl.receive(
      '{"id":1,"error":{"code":"invalid.name","message":"too long","data":{"param":"name"}}}',
    );
    const error = await renamed.catch((e: unknown) => e);
    expect(failedWith(error, 'not_found.pane')).toBe(false);
    if (!failedWith(error, 'invalid.name')) throw new Error('not told by its code');
    expect(error.data.param).toBe('name');
    const slow = ctl.call('pane.list', {});
    const timed = expect(slow).rejects.toSatisfy((e) => failedWith(e, 'timeout'));
    await vi.advanceTimersByTimeAsync(verbTimeoutMs - 1);
    await vi.advanceTimersByTimeAsync(1);
    await timed;
  });

  test('an answer in pieces is whole before it counts, and out of order it ends the channel', async () => {
    const ctl = new Ctl(
      () => {},
      () => {},
    );
    const answer = new TextEncoder().encode('{"id":1,"ok":{"panes":[{"title":"é"}]}}');
    const piece = (seq: number, from: number, to: number, last: boolean) =>
      JSON.stringify({ id: 1, seq, last, data: toB64(answer.subarray(from, to)) });
    const list = ctl.call('pane.list', {});
    ctl.receive(piece(0, 0, 32, false));
    ctl.receive(piece(1, 32, answer.length, true));
    expect(await list).toEqual({ panes: [{ title: 'é' }] });
    ctl.receive(piece(0, 0, 4, false)); // of a request that was given up
    void ctl.call('pane.list', {}).catch(() => {});
    expect(() => ctl.receive('{"id":2,"seq":1,"last":false,"data":""}')).toThrow();
    ctl.end();
  });
});
