// SPDX-License-Identifier: Apache-2.0

// A browser that is paired, or has a code at hand with which it pairs now.

import type { Bytes } from '../wire/b64';
import { LinkError } from './errors';
import { type Challenge, pair } from './handshake';
import type { Pairing, PairingStore } from './keys';
import { deviceParty, type Identity, type Party } from './party';
import type { Signalling } from './signalling';

export interface PairedOptions {
  store: PairingStore;
  /** A one-time code at hand, used when there is no pairing or the host has forgotten it. */
  code(): Bytes | null;
  onPaired(pairing: Pairing): void;
  /** What this browser calls itself when it pairs. */
  deviceName: string;
}

export class PairedBrowser implements Identity {
  constructor(private readonly options: PairedOptions) {}

  /** The pairing at hand, or a new one when there is a code that is needed. */
  async party(challenge: Challenge, signalling: Signalling, signal: AbortSignal): Promise<Party> {
    const { store, deviceName } = this.options;
    const known = await store.load();
    if (known && known.hostKey === challenge.hostKey) return deviceParty(known);
    const code = this.options.code();
    if (code) {
      const pairing = await pair(signalling, challenge, code, deviceName, store, signal).catch(
        (error) => this.#pairedMeanwhile(challenge.hostKey, error),
      );
      this.options.onPaired(pairing);
      return deviceParty(pairing);
    }
    if (known) throw new LinkError('identity_changed', 'another host key');
    throw new LinkError('unpaired', 'no pairing and no code');
  }

  /** What the host has forgotten is of no more use once there is a code. */
  async refused(error: unknown): Promise<boolean> {
    const forgotten = error instanceof LinkError && error.failure === 'unknown_device';
    if (!forgotten || !this.options.code()) return false;
    await this.options.store.forget();
    return true;
  }

  /** A code works once. When another tab has used it, its pairing is ours too, at the next try. */
  async #pairedMeanwhile(hostKey: string, error: unknown): Promise<never> {
    const known = await this.options.store.load();
    if (known?.hostKey === hostKey) throw new LinkError('no_channel', 'paired meanwhile');
    throw error;
  }
}
