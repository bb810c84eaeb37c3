// SPDX-License-Identifier: Apache-2.0

// Requests and events of spawn.ctl over any ordered text channel.

import type { CtlCalls, CtlEvent, CtlVerb } from '../wire/ctl';
import { readCtl } from '../wire/read';

/** How long an answer may take before the request counts as failed. */
export const requestTimeoutMs = 10_000;

/** Requests that may be under way at once; a person never gets near it. */
const pendingMax = 256;

export class CtlFailure extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

interface Pending {
  resolve(ok: unknown): void;
  reject(error: CtlFailure): void;
  timer: ReturnType<typeof setTimeout>;
}

export class Ctl {
  #next = 1;
  #pending = new Map<number, Pending>();
  #ended = false;

  constructor(
    private readonly send: (text: string) => void,
    private readonly onEvent: (event: CtlEvent) => void,
  ) {}

  /** Sends one request. Fails with `timeout`, `closed`, or the host's own code. */
  request<V extends CtlVerb>(
    verb: V,
    params: CtlCalls[V]['params'],
    timeoutMs = requestTimeoutMs,
  ): Promise<CtlCalls[V]['result']> {
    if (this.#ended) return Promise.reject(new CtlFailure('closed', 'not connected'));
    if (this.#pending.size >= pendingMax) {
      return Promise.reject(new CtlFailure('busy', 'too many requests under way'));
    }
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        reject(new CtlFailure('timeout', `no answer to ${verb}`));
      }, timeoutMs);
      this.#pending.set(id, { resolve: resolve as (ok: unknown) => void, reject, timer });
      try {
        this.send(JSON.stringify({ id, verb, params }));
      } catch {
        this.#settle(id)?.reject(new CtlFailure('closed', 'not connected'));
      }
    });
  }

  /** One message of the host. Throws when it is malformed: the channel is then of no use. */
  receive(text: string): void {
    const message = readCtl(text);
    if (message.kind === 'event') this.onEvent(message.event);
    else if (message.kind === 'ok') this.#settle(message.id)?.resolve(message.ok);
    else if (message.kind === 'error') {
      const { code, message: detail } = message.error;
      this.#settle(message.id)?.reject(new CtlFailure(code, detail));
    }
  }

  /** Fails everything under way. */
  end(): void {
    this.#ended = true;
    for (const id of [...this.#pending.keys()]) {
      this.#settle(id)?.reject(new CtlFailure('closed', 'connection lost'));
    }
  }

  #settle(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    if (!pending) return undefined;
    this.#pending.delete(id);
    clearTimeout(pending.timer);
    return pending;
  }
}
