// SPDX-License-Identifier: Apache-2.0

// Makes pasted text harmless: it must not leave bracketed paste by itself, nor
// carry controls that a person does not see on the page it came from.

const markers = /(?:\x1b\[|\u009b)20[01]~/g;

/** Every C0 and C1 control and DEL, but for tab, CR and LF. */
const controls = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;

/**
 * Removes paste markers until none is left (what is left of a nested one may
 * be a marker again), then every other control. Applying it twice changes nothing.
 */
export function sanitisePaste(text: string): string {
  let before: string;
  let after = text;
  do {
    before = after;
    after = before.replace(markers, '');
  } while (after !== before);
  return after.replace(controls, '');
}

/** Whether the text would run something at once in a shell without bracketed paste. */
export function isMultiLine(text: string): boolean {
  return /[\r\n]/.test(text.replace(/[\r\n]+$/, '')) || /[\r\n]$/.test(text);
}

/** What is sent for sanitised text: line ends as the Enter key makes them. */
export function pasteBytes(sanitised: string, bracketed: boolean): Uint8Array {
  const text = sanitised.replace(/\r?\n/g, '\r');
  return new TextEncoder().encode(bracketed ? `\x1b[200~${text}\x1b[201~` : text);
}
