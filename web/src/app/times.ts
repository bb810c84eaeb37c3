// SPDX-License-Identifier: Apache-2.0

// Moments in words.

/** A moment to come: the time of day, with the day unless that is today. */
export function untilText(at: number, now: number, locale?: string): string {
  const day = new Date(at);
  const time = day.toLocaleTimeString(locale, { hour: 'numeric', minute: '2-digit' });
  if (day.toDateString() === new Date(now).toDateString()) return time;
  const date = day.toLocaleDateString(locale, { weekday: 'short', day: 'numeric', month: 'short' });
  return `${date}, ${time}`;
}

/** The units in which a person counts, each from how many milliseconds on. */
const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/**
 * How long ago that is: "5 minutes ago", "yesterday". What lies ahead, by a clock
 * that was set back, is told so too: "in 2 hours". `never` for 0. Both are Unix milliseconds.
 */
export function agoText(then: number, now: number): string {
  if (then === 0) return 'never';
  const past = now - then;
  for (const [unit, length] of units) {
    if (Math.abs(past) >= length) return relative.format(-Math.trunc(past / length), unit);
  }
  return 'just now';
}

/** The moment as this browser's person writes dates, to the second. */
export function momentText(then: number): string {
  return new Date(then).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}
