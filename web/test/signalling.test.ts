// SPDX-License-Identifier: Apache-2.0
import { afterEach, expect, test, vi } from 'vitest';
import { Signalling } from '../src/link/signalling';

/** A socket that opens at once and says what a test says. */
class Socket {
  static last: Socket;
  onopen: () => void = () => {};
  onclose: () => void = () => {};
  onmessage: (event: { data: unknown }) => void = () => {};
  constructor(
    readonly url: string,
    readonly protocol: string,
  ) {
    Socket.last = this;
    queueMicrotask(() => this.onopen());
  }
  close(): void {}
}

afterEach(() => vi.unstubAllGlobals());

test.each([
  ['pair.invalid', 'pair_invalid', true],
  ['auth.unknown_device', 'unknown_device', true],
  ['auth.signature', 'unknown_device', true],
  ['share.invalid', 'share_ended', true],
  ['share.full', 'share_full', false],
  ['protocol', 'protocol', true],
  ['busy', 'no_channel', false],
  ['what a newer host says', 'no_channel', false],
])('a refusal with %s is %s, for good: %s', async (code, failure, final) => {
  vi.stubGlobal('WebSocket', Socket);
  const { signal } = new AbortController();
  const signalling = await Signalling.open('ws://h/api/signal', signal);
  expect(Socket.last.protocol).toBe('spawn.signal.v1');
  Socket.last.onmessage({ data: JSON.stringify({ type: 'error', code, message: 'why' }) });
  await expect(signalling.next('answer', signal)).rejects.toMatchObject({ failure, final });
});
