// SPDX-License-Identifier: Apache-2.0

// Who else may come in: share links and paired browsers, and what a person may do about them.

import { signal } from '@preact/signals';
import { type Ctl, CtlFailure, failedWith } from '../link/ctl';
import type { Device, Share, ShareCreateResult } from '../wire/verbs';
import { agoText } from './times';

export class Sharing {
  /** Links that are good; null until the host has told. */
  readonly links = signal<readonly Share[] | null>(null);
  /** Paired browsers; null until the host has told. */
  readonly devices = signal<readonly Device[] | null>(null);
  /** Why the last thing asked for was not done. */
  readonly failure = signal('');
  readonly busy = signal(false);

  constructor(private readonly ctl: () => Ctl | null) {}

  /** Asks for all of them. What is known stays when nobody answers. */
  async load(): Promise<void> {
    const ctl = this.ctl();
    if (!ctl) return;
    try {
      const [links, devices] = await Promise.all([
        ctl.call('share.list', {}),
        ctl.call('device.list', {}),
      ]);
      this.links.value = links.shares;
      this.devices.value = devices.devices;
    } catch (error) {
      if (!failedWith(error, 'closed')) this.failure.value = sharingReason(error);
    }
  }

  /** Makes a link to one pane; null when none was made. */
  async create(
    pane: string,
    right: 'read' | 'write',
    seconds: number,
    label: string,
  ): Promise<ShareCreateResult | null> {
    let made: ShareCreateResult | null = null;
    await this.#act(async (ctl) => {
      const params = { resource: `pane:${pane}`, right, seconds, ...(label && { label }) };
      made = await ctl.call('share.create', params);
    });
    return made;
  }

  revoke(share: string): Promise<boolean> {
    return this.#act((ctl) => ctl.call('share.revoke', { share }));
  }

  unpair(device: string): Promise<boolean> {
    return this.#act((ctl) => ctl.call('device.revoke', { device }));
  }

  async #act(work: (ctl: Ctl) => Promise<unknown>): Promise<boolean> {
    if (this.busy.value) return false;
    this.busy.value = true;
    this.failure.value = '';
    try {
      const ctl = this.ctl();
      if (!ctl) throw new CtlFailure('closed', 'not connected');
      await work(ctl);
      return true;
    } catch (error) {
      this.failure.value = sharingReason(error);
      return false;
    } finally {
      this.busy.value = false;
      await this.load();
    }
  }
}

/** This browser first, then those that are connected, then who was here last. */
export function inOrder(devices: readonly Device[], own: string): Device[] {
  const rank = ({ device, online }: Device) => (device === own ? 2 : Number(online));
  return [...devices].sort(
    (a, b) => rank(b) - rank(a) || b.seen_at - a.seen_at || b.paired_at - a.paired_at,
  );
}

/** The grain in which the host keeps when a browser was here: the hour that began then. */
const seenGrainMs = 3_600_000;

/** When a browser was here, as far as it is known. */
export function seenText({ online, seen_at }: Device, now: number): string {
  if (online) return 'Connected now.';
  const past = now - seen_at;
  if (past >= 0 && past < seenGrainMs) return 'Here within the hour.';
  return `Here ${agoText(seen_at, now)}.`;
}

const reasons: Readonly<Record<string, string>> = {
  'not_found.grant': 'This link has ended already.',
  'not_found.device': 'This browser is not paired any more.',
  'not_found.pane': 'The terminal is gone.',
  'unavailable.full': 'There are as many links as there may be. End some first.',
  'unsupported.verb': 'This spawnd cannot share.',
  closed: 'Not connected.',
};

function sharingReason(error: unknown): string {
  if (!(error instanceof CtlFailure)) return 'That did not work.';
  return Object.hasOwn(reasons, error.code) ? (reasons[error.code] as string) : error.message;
}
