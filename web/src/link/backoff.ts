// SPDX-License-Identifier: Apache-2.0

export const backoffMinMs = 100;
export const backoffMaxMs = 2000;

/** A host that was away for a time t is found within about a quarter of t. */
const growth = 1.25;

const triesMax = 64;

/**
 * The wait before try `n` (from 0): growing from 100 ms to 2 s, and up to a
 * quarter less by chance, so that many pages do not come back at one instant.
 */
export function backoffMs(n: number, random: () => number): number {
  const full = Math.min(backoffMaxMs, backoffMinMs * growth ** Math.min(n, triesMax));
  return Math.round(full * (1 - random() / 4));
}
