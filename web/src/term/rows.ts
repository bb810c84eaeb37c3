// SPDX-License-Identifier: Apache-2.0

import type { IBuffer } from '@xterm/xterm';

/** The last `rows` rows of a buffer as lines of text, soft-wrapped rows joined, blanks at line ends left out. */
export function bufferText(buffer: Pick<IBuffer, 'length' | 'getLine'>, rows: number): string {
  const lines: string[] = [];
  const first = Math.max(0, buffer.length - rows);
  for (let y = first; y < buffer.length; y++) {
    const line = buffer.getLine(y);
    if (!line) continue;
    const continues = buffer.getLine(y + 1)?.isWrapped ?? false;
    const text = line.translateToString(!continues);
    if (line.isWrapped && lines.length > 0) lines[lines.length - 1] += text;
    else lines.push(text);
  }
  return lines.map((line) => line.trimEnd()).join('\n');
}
