// SPDX-License-Identifier: Apache-2.0

// Which checkpoint a person is led to, and why, in words. The host decides which;
// by what it decides is in internal/supervisor/recovery/leading.go.

import type { Checkpoint } from './recovery';

/** The one that a person is led to first, then the newer before the older. */
export function inOrder(all: readonly Checkpoint[]): Checkpoint[] {
  const rank = (at: Checkpoint) => (at.leading ? Number.POSITIVE_INFINITY : at.generation);
  return [...all].sort((a, b) => rank(b) - rank(a) || 0);
}

/** Why a person should look at this one, or had better not; '' where there is nothing to say. */
export function leadText(at: Checkpoint, all: readonly Checkpoint[]): string {
  const lead = all.find((one) => one.leading);
  const valid = all.filter((one) => one.status === 'valid');
  if (!lead || at.status !== 'valid') return '';
  const newer = valid.filter((one) => one.generation > lead.generation);
  if (at === lead) {
    if (newer.length === 0) return valid.length > 1 ? 'Start with this one: it is the newest.' : '';
    const which = newer.length === 1 ? 'the newer one looks' : 'the newer ones look';
    return `Start with this one: ${which} like what was left while the host was shutting down.`;
  }
  if (!newer.includes(at)) return '';
  const [left, of, what] = shortfall(at, lead);
  return `Probably what was left while the host was shutting down: ${left} of ${of} ${what}, saved a little later.`;
}

/** What the newer one has less of: terminals, their texts, or those in which something ran. */
function shortfall(at: Checkpoint, lead: Checkpoint): [number, number, string] {
  if (2 * at.panes < lead.panes) return [at.panes, lead.panes, 'terminals'];
  if (2 * at.texts < lead.texts) return [at.texts, lead.texts, 'texts'];
  return [at.running, lead.running, 'running terminals'];
}
