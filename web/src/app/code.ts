// SPDX-License-Identifier: Apache-2.0

import { readShareLink, type ShareLink } from '../link/visitor';
import { type Bytes, fromB64Exact } from '../wire/b64';

const codeLength = 16;

/** Reads a pairing code from an address, a fragment or the bare code. Null when there is none. */
export function readCode(text: string): Bytes | null {
  const match = /(?:#?pair=|^)([A-Za-z0-9_-]{22})$/.exec(text.trim());
  if (!match?.[1]) return null;
  try {
    return fromB64Exact(match[1], codeLength);
  } catch {
    return null;
  }
}

/** What an address brings along behind its `#`: a pairing code, or a share link. */
export interface Brought {
  code: Bytes | null;
  link: ShareLink | null;
}

/**
 * Takes it out of the address bar at once, so that it reaches neither the
 * history nor a screenshot nor a bookmark.
 */
export function takeFromAddress(): Brought {
  const { hash } = location;
  if (hash) history.replaceState(null, '', location.pathname + location.search);
  return { code: readCode(hash), link: readShareLink(hash) };
}

/** What this browser is called on the host's list of devices. */
export function deviceName(agent: string): string {
  const browser =
    /(Firefox|Edg|OPR|SamsungBrowser|Chromium|Chrome)\//.exec(agent)?.[1] ??
    (/Safari\//.test(agent) ? 'Safari' : 'Browser');
  const system =
    /(Android|iPhone|iPad|Windows|Mac OS X|CrOS|Linux)/.exec(agent)?.[1] ?? 'unknown system';
  const names: Record<string, string> = {
    Edg: 'Edge',
    OPR: 'Opera',
    'Mac OS X': 'macOS',
    CrOS: 'ChromeOS',
  };
  return `${names[browser] ?? browser} on ${names[system] ?? system}`;
}
