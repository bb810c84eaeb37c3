// SPDX-License-Identifier: Apache-2.0

/** Why an attempt to reach the host ended. */
export type LinkFailure =
  /** No WebSocket: nothing listens there, or the network is away. Tried again. */
  | 'unreachable'
  /** It answered, but no channel came up in time, or it was busy. Tried again. */
  | 'no_channel'
  /** This browser holds no pairing and was given no code. */
  | 'unpaired'
  /** The host no longer knows this browser. */
  | 'unknown_device'
  /** The code is wrong, used or too old. */
  | 'pair_invalid'
  /** The share link has ended, or never was good. */
  | 'share_ended'
  /** As many have the share link open as may. Tried again. */
  | 'share_full'
  /** The host shows another key than the one pinned, or its signature is wrong. */
  | 'identity_changed'
  /** It speaks another version; a reload brings its page. */
  | 'protocol'
  /** The browser lacks what is needed (Ed25519, WebRTC, a secure context). */
  | 'unsupported';

/** Failures that trying again cannot cure. */
const final = new Set<LinkFailure>([
  'unpaired',
  'unknown_device',
  'pair_invalid',
  'share_ended',
  'identity_changed',
  'protocol',
  'unsupported',
]);

export class LinkError extends Error {
  constructor(
    readonly failure: LinkFailure,
    detail: string,
  ) {
    super(`${failure}: ${detail}`);
  }

  get final(): boolean {
    return final.has(this.failure);
  }
}
