// SPDX-License-Identifier: Apache-2.0

// What the browser keeps of a pairing: its own key, which no script can read
// out, and the host's public key, which every later answer must be signed with.

import { kept } from './kept';

export interface Pairing {
  device: string;
  /** P-256, not extractable: the browser signs with it and never shows it. */
  key: CryptoKey;
  /** The host's Ed25519 public key, base64url, as it was pinned. */
  hostKey: string;
  hostName: string;
}

export interface PairingStore {
  load(): Promise<Pairing | null>;
  save(pairing: Pairing): Promise<void>;
  forget(): Promise<void>;
}

const recordKey = 'host';

/** The store in IndexedDB, which can hold a CryptoKey without showing it. One host per origin. */
export class BrowserPairingStore implements PairingStore {
  async load(): Promise<Pairing | null> {
    const found = (await kept('readonly', (store) => store.get(recordKey))) as Pairing | undefined;
    return found?.key instanceof CryptoKey ? found : null;
  }

  async save(pairing: Pairing): Promise<void> {
    await kept('readwrite', (store) => store.put(pairing, recordKey));
  }

  async forget(): Promise<void> {
    await kept('readwrite', (store) => store.delete(recordKey));
  }
}

/** A new browser key; only its public half can ever be read. */
export async function newDeviceKey(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, [
    'sign',
    'verify',
  ]);
}
