// SPDX-License-Identifier: Apache-2.0

/** Longest title shown, in code points. */
export const titleMax = 128;

/** Controls, bidirectional controls, zero-width and other invisible marks. */
const hidden =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\uffff]|[\u{e0000}-\u{e0fff}]/gu;

/** Text from a program, made fit for a tab, a window title or a message. */
export function safeTitle(text: string, max = titleMax): string {
  // Cut before the work: a title may be megabytes, and each code point is at most 2 units.
  const clean = text
    .slice(0, 4 * max)
    .replace(hidden, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  const points = [...clean].filter((c) => !/[\ud800-\udfff]/.test(c) || c.length > 1);
  return points.length <= max ? points.join('') : `${points.slice(0, max - 1).join('')}…`;
}
