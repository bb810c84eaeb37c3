// SPDX-License-Identifier: Apache-2.0

// The options in which page and worker must agree, for the browser's build of
// xterm.js and for the headless one that tests run.

/**
 * What the worker's emulator is compared with: no scrollback (history is the
 * worker's log), and no pull-back of lines when the screen grows.
 */
export const screenOptions = {
  allowProposedApi: true,
  scrollback: 0,
  windowsPty: { backend: 'conpty', buildNumber: 21376 },
} as const;

interface UnicodeHost {
  readonly unicode: { activeVersion: string };
  loadAddon(addon: unknown): void;
}

/** The width table of the worker is generated from this provider; no other may be active. */
export function useUnicode11(term: UnicodeHost, addon: unknown): void {
  term.loadAddon(addon);
  term.unicode.activeVersion = '11';
}

/** What is written before a repaint: end any open sequence, then forget everything. */
export const clearBeforeRepaint =
  '\x18\x1b\\\x1bc\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\';
