// SPDX-License-Identifier: Apache-2.0

const string = '(?:[^\\x07\\x1b\\x9c]|\\x1b(?!\\\\))*(?:\\x07|\\x1b\\\\|\\x9c)';
const sequences = new RegExp(
  [
    `\\x1b[\\]P^_X]${string}`, // OSC, DCS, PM, APC, SOS up to their end
    '\\x1b\\[[0-?]*[ -/]*[@-~]', // CSI
    '\\x1b[ -/]+[0-~]', // ESC with intermediates, such as charset designations
    '\\x1b[0-~]', // the other two-character escapes
  ].join('|'),
  'g',
);
const otherControls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

/** The text of styled history: no escape sequence, no control but tab and LF. */
export function plainText(styled: Uint8Array): string {
  return new TextDecoder()
    .decode(styled)
    .replace(sequences, '')
    .replace(/\r\n/g, '\n')
    .replace(otherControls, '');
}
