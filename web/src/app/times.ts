// SPDX-License-Identifier: Apache-2.0

// Moments in words.

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A moment to come: the time of day, with the day unless that is today. */
export function untilText(at: number, now: number, locale?: string): string {
  const day = new Date(at);
  const time = day.toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit' });
  if (day.toDateString() === new Date(now).toDateString()) return time;
  const date = day.toLocaleDateString(locale, { weekday: 'short', day: 'numeric', month: 'short' });
  return `${date}, ${time}`;
}

/** A moment that is past, in the largest unit that is whole; `never` for 0. */
export function agoText(at: number, now: number): string {
  if (at === 0) return 'never';
  const past = now - at;
  if (past < minuteMs) return 'just now';
  if (past < hourMs) return `${Math.floor(past / minuteMs)} min ago`;
  if (past < dayMs) return `${Math.floor(past / hourMs)} h ago`;
  const days = Math.floor(past / dayMs);
  return days === 1 ? 'a day ago' : `${days} days ago`;
}
