// SPDX-License-Identifier: Apache-2.0

// The signalling WebSocket: typed messages in order, candidates apart.

import {
  type Candidate,
  type FromHost,
  readSignal,
  signalProtocol,
  type ToHost,
} from '../wire/signal';
import { LinkError } from './errors';

/** Messages that may wait to be asked for; the host never sends that many. */
const queuedMax = 8;

/** Candidates held until the answer is set. */
const candidatesMax = 64;

type Type = FromHost['type'];
type Message<T extends Type> = Extract<FromHost, { type: T }>;

export class Signalling {
  /** Called once when the socket is gone, whoever closed it. */
  onClose: () => void = () => {};

  #queue: FromHost[] = [];
  #wake: (() => void) | null = null;
  #closed = false;
  #held: Candidate[] | null = [];
  #onCandidate: (c: Candidate) => void = () => {};

  private constructor(private readonly socket: WebSocket) {
    socket.onmessage = (event) => this.#receive(event.data);
    socket.onclose = () => this.#end();
  }

  /** Resolves when the socket is open; fails as `unreachable`. */
  static open(url: string, signal: AbortSignal): Promise<Signalling> {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(url, signalProtocol);
      const fail = () => {
        socket.close();
        reject(new LinkError('unreachable', 'no signalling socket'));
      };
      socket.onopen = () => resolve(new Signalling(socket));
      socket.onclose = fail;
      signal.addEventListener('abort', fail, { once: true });
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  send(message: ToHost): void {
    if (!this.#closed) this.socket.send(JSON.stringify(message));
  }

  /** The next message, which must be of this type. An error message is thrown as what it means. */
  async next<T extends Type>(type: T, signal: AbortSignal): Promise<Message<T>> {
    const message = await this.#take(signal);
    if (message.type === 'error') throw refusal(message.code);
    if (message.type !== type) throw new LinkError('no_channel', `unexpected ${message.type}`);
    return message as Message<T>;
  }

  /** From now on candidates go to `sink`, those held so far first. */
  releaseCandidates(sink: (c: Candidate) => void): void {
    const held = this.#held ?? [];
    this.#held = null;
    this.#onCandidate = sink;
    for (const candidate of held) sink(candidate);
  }

  close(): void {
    this.socket.close();
    this.#end();
  }

  async #take(signal: AbortSignal): Promise<FromHost> {
    for (;;) {
      const message = this.#queue.shift();
      if (message) return message;
      if (this.#closed) throw new LinkError('no_channel', 'signalling closed');
      if (signal.aborted) throw new LinkError('no_channel', 'too slow');
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  #receive(data: unknown): void {
    try {
      if (typeof data !== 'string') throw new Error('binary signal');
      this.#accept(readSignal(data));
    } catch {
      this.close();
    }
  }

  #accept(message: FromHost): void {
    if (message.type === 'candidate') {
      if (!this.#held) this.#onCandidate(message.candidate);
      else if (this.#held.length < candidatesMax) this.#held.push(message.candidate);
      return;
    }
    if (this.#queue.length >= queuedMax) throw new Error('too many signals');
    this.#queue.push(message);
    this.#wake?.();
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#wake?.();
    this.onClose();
  }
}

function refusal(code: string): LinkError {
  switch (code) {
    case 'pair.invalid':
      return new LinkError('pair_invalid', code);
    case 'auth.unknown_device':
      return new LinkError('unknown_device', code);
    case 'auth.signature':
      return new LinkError('unknown_device', code);
    case 'share.invalid':
      return new LinkError('share_ended', code);
    case 'share.full':
      return new LinkError('share_full', code);
    case 'protocol':
      return new LinkError('protocol', code);
    default:
      return new LinkError('no_channel', code);
  }
}
