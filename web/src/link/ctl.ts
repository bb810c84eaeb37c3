// SPDX-License-Identifier: Apache-2.0

// Requests, verbs and events of spawn.ctl over any ordered text channel.

import { fromB64 } from '../wire/b64';
import type { AnswerPiece, CtlCalls, CtlEvent, CtlVerb } from '../wire/ctl';
import { readCtl } from '../wire/read';
import type { StreamName, VerbCalls, VerbErrors, VerbName } from '../wire/verbs';

/** How long an answer may take before the request counts as failed. */
export const requestTimeoutMs = 10_000;

/** Likewise of a verb; the host gives most of them 30 seconds. */
export const verbTimeoutMs = 35_000;

/** Longest answer put together of pieces; the host sends no longer one. */
const answerBytesMax = 8 << 20;

/** Requests that may be under way at once; a person never gets near it. */
const pendingMax = 256;

/** The verbs that a page may ask for. */
export type PageVerb = Exclude<VerbName, StreamName>;

/** What the link itself fails with, beside the host's codes. */
export type LinkCode = 'timeout' | 'closed' | 'busy';

export class CtlFailure extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly data: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** Tells one failure by its code, and what its data holds. */
export function failedWith<C extends keyof VerbErrors | LinkCode>(
  error: unknown,
  code: C,
): error is CtlFailure & { code: C; data: C extends keyof VerbErrors ? VerbErrors[C] : object } {
  return error instanceof CtlFailure && error.code === code;
}

interface Pending {
  resolve(ok: unknown): void;
  reject(error: CtlFailure): void;
  timer: ReturnType<typeof setTimeout>;
  /** Of an answer that comes in pieces. */
  parts: Uint8Array[];
  bytes: number;
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
    return this.#send(verb, params, timeoutMs) as Promise<CtlCalls[V]['result']>;
  }

  /** Asks for a verb of the one table, likewise. */
  call<V extends PageVerb>(
    verb: V,
    params: VerbCalls[V]['params'],
    timeoutMs = verbTimeoutMs,
  ): Promise<VerbCalls[V]['result']> {
    return this.#send(verb, params, timeoutMs) as Promise<VerbCalls[V]['result']>;
  }

  #send(verb: string, params: unknown, timeoutMs: number): Promise<unknown> {
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
      this.#pending.set(id, { resolve, reject, timer, parts: [], bytes: 0 });
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
    if (message.kind === 'piece') this.#piece(message.piece);
    else if (message.kind === 'event') this.onEvent(message.event);
    else if (message.kind === 'ok') this.#settle(message.id)?.resolve(message.ok);
    else if (message.kind === 'error') {
      const { code, message: detail, data } = message.error;
      this.#settle(message.id)?.reject(new CtlFailure(code, detail, data));
    }
  }

  #piece({ id, seq, last, data }: AnswerPiece): void {
    const pending = this.#pending.get(id);
    if (!pending) return; // It was given up before all of it was here.
    const part = fromB64(data);
    if (seq !== pending.parts.length || pending.bytes + part.length > answerBytesMax) {
      throw new Error('ctl piece out of order');
    }
    pending.parts.push(part);
    pending.bytes += part.length;
    if (last) this.receive(textOf(pending.parts, pending.bytes));
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

function textOf(parts: readonly Uint8Array[], bytes: number): string {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(whole);
}
