// SPDX-License-Identifier: Apache-2.0

// Who came by a share link. The link's token stays in this browser: a name and a
// signing key are made of it, and of these the name alone is sent. The link names
// the host's key too, so a visitor knows the host without having met it.

import { type Bytes, fromB64Exact, toB64 } from '../wire/b64';
import { visitText, welcomeText } from '../wire/transcript';
import { LinkError } from './errors';
import type { Challenge } from './handshake';
import { type Identity, type Party, sent } from './party';

const tokenLength = 32;
const hostKeyLength = 32;
const nameLength = 16;

/** What comes before the seed of an Ed25519 key in PKCS #8 (RFC 8410). */
const pkcs8 = [0x30, 0x2e, 0x02, 0x01, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/** What is behind `#share=`. */
export interface ShareLink {
  token: Bytes;
  hostKey: string;
}

/** What a browser keeps of a link. The key signs and cannot be read out. */
export interface Visit {
  /** The link's name, which tells nothing of its token. */
  link: string;
  key: CryptoKey;
  hostKey: string;
  /** When it was opened, in Unix milliseconds. */
  at: number;
}

/** Reads a link from a fragment or an address. Null when there is none. */
export function readShareLink(text: string): ShareLink | null {
  const match = /#share=([\w-]+)\.([\w-]+)$/.exec(text.trim());
  if (!match?.[1] || !match[2]) return null;
  try {
    fromB64Exact(match[2], hostKeyLength);
    return { token: fromB64Exact(match[1], tokenLength), hostKey: match[2] };
  } catch {
    return null;
  }
}

/** Makes of a link what is kept of it. */
export async function openShareLink({ token, hostKey }: ShareLink, at: number): Promise<Visit> {
  const name = await derive(token, 'spawn.share.name.v1');
  const seed = await derive(token, 'spawn.share.key.v1');
  return { link: toB64(name.subarray(0, nameLength)), key: await signingKey(seed), hostKey, at };
}

async function derive(token: Bytes, label: string): Promise<Bytes> {
  const hmac = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', token, hmac, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(label)));
}

async function signingKey(seed: Bytes): Promise<CryptoKey> {
  const raw = Uint8Array.of(...pkcs8, ...seed);
  try {
    return await crypto.subtle.importKey('pkcs8', raw, 'Ed25519', false, ['sign']);
  } catch {
    throw new LinkError('unsupported', 'no Ed25519 in this browser');
  }
}

export function visitorParty({ hostKey, link, key }: Visit): Party {
  return {
    hostKey,
    async ask(wish) {
      const sig = await crypto.subtle.sign(
        'Ed25519',
        key,
        await visitText({ ...wish, hostKey, link }),
      );
      return { type: 'visit', link, ...sent(wish, sig) };
    },
    answered: (wish) => welcomeText({ ...wish, hostKey, link }),
  };
}

/** A visitor whose link is opened, or fetched from where it is kept. */
export class Visitor implements Identity {
  constructor(private readonly visit: Promise<Visit | null>) {
    visit.catch(() => {}); // It is told to whoever asks for the party.
  }

  async party(challenge: Challenge): Promise<Party> {
    const visit = await this.visit;
    if (!visit) throw new LinkError('share_ended', 'the link is not kept any more');
    if (visit.hostKey !== challenge.hostKey) {
      throw new LinkError('identity_changed', 'not the host that the link names');
    }
    return visitorParty(visit);
  }

  async refused(): Promise<boolean> {
    return false;
  }
}
