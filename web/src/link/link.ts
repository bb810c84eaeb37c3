// SPDX-License-Identifier: Apache-2.0

// Keeps a session to the host, for as long as the page lives.
//
//            start, wake, timer                ok
//   waiting ───────────────────► connecting ───────► up
//      ▲   ◄───────────────────────┘   │             │
//      │        may be tried again     │ final       │ lost
//      │                               ▼             │
//      │            start()         halted           │
//      └─────────────────────────────────────────────┘

import { backoffMs } from './backoff';
import { LinkError, type LinkFailure } from './errors';
import type { Session } from './peer';

/** How long the host may take to answer after the network or the person came back. */
const wakeTimeoutMs = 2000;

/** How old a running attempt must be for a wake to replace it. */
const stuckMs = 3000;

export type LinkState =
  | { phase: 'connecting'; since: number; failure: LinkFailure | null }
  | { phase: 'waiting'; since: number; failure: LinkFailure | null }
  | { phase: 'up'; session: Session }
  | { phase: 'halted'; failure: LinkFailure };

export interface LinkDeps {
  connect(): Promise<Session>;
  now(): number;
  random(): number;
}

export class Link {
  onState: (state: LinkState) => void = () => {};

  #state: LinkState;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #tries = 0;
  /** When the host was last known to be there; waiting is counted from it. */
  #since: number;
  #attemptAt = 0;
  /** Grows whenever a running attempt has become worthless. */
  #generation = 0;

  constructor(private readonly deps: LinkDeps) {
    this.#since = deps.now();
    this.#state = { phase: 'waiting', since: this.#since, failure: null };
  }

  get state(): LinkState {
    return this.#state;
  }

  /** Begins, or begins again after a halt: a new code, or the pairing was forgotten. */
  start(): void {
    this.#tries = 0;
    this.#since = this.deps.now();
    this.#attempt(null);
  }

  /** The network, the page or the person came back: do not wait any longer. */
  wake(): void {
    const state = this.#state;
    if (state.phase === 'waiting' || (state.phase === 'connecting' && this.#isStuck())) {
      this.#tries = 0;
      this.#attempt(state.failure);
    } else if (state.phase === 'up') state.session.doubt(wakeTimeoutMs);
  }

  /** An attempt from before the network changed may hang until its deadline. */
  #isStuck(): boolean {
    return this.deps.now() - this.#attemptAt > stuckMs;
  }

  /** The page goes away: let the host know at once. `start` begins again. */
  leave(): void {
    clearTimeout(this.#timer);
    this.#generation++;
    if (this.#state.phase === 'up') this.#state.session.close();
    this.#set({ phase: 'waiting', since: this.deps.now(), failure: null });
  }

  #attempt(failure: LinkFailure | null): void {
    clearTimeout(this.#timer);
    this.#attemptAt = this.deps.now();
    const generation = ++this.#generation;
    this.#set({ phase: 'connecting', since: this.#since, failure });
    this.deps.connect().then(
      (session) => {
        if (generation === this.#generation) this.#up(session);
        else session.close();
      },
      (error: unknown) => {
        if (generation === this.#generation) this.#failed(error);
      },
    );
  }

  #up(session: Session): void {
    this.#tries = 0;
    session.onLost = () => {
      this.#since = this.deps.now();
      this.#wait(null);
    };
    this.#set({ phase: 'up', session });
  }

  #failed(error: unknown): void {
    const failure = error instanceof LinkError ? error.failure : 'no_channel';
    if (error instanceof LinkError && error.final) this.#set({ phase: 'halted', failure });
    else this.#wait(failure);
  }

  #wait(failure: LinkFailure | null): void {
    const delay = backoffMs(this.#tries++, this.deps.random);
    this.#timer = setTimeout(() => this.#attempt(failure), delay);
    this.#set({ phase: 'waiting', since: this.#since, failure });
  }

  #set(state: LinkState): void {
    this.#state = state;
    this.onState(state);
  }
}
