// SPDX-License-Identifier: Apache-2.0

// Links: those that a program marks (OSC 8) and those that are written out.
// Only http and https open, in a tab that knows nothing of this one, and the
// real target is shown before.

import type { IBufferLine, ILink, ILinkProvider, Terminal } from '@xterm/xterm';

/** Longest target that opens. */
const targetMax = 4096;

/** Rows on either side that a wrapped address may reach over. */
const wrapRowsMax = 16;

const written = /https?:\/\/[^\s<>"'`{}|\\^\u0000-\u001f\u007f-\u009f]+/giu;

export interface LinkUi {
  show(target: string, refused: boolean): void;
  hide(): void;
}

/** The address as it would open (host in ASCII form), or null when it must not. */
export function openTarget(uri: string): string | null {
  if (uri.length > targetMax || /[\u0000-\u0020\u007f-\u009f]/.test(uri)) return null;
  if (!/^https?:\/\//i.test(uri)) return null;
  try {
    const url = new URL(uri);
    return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : null;
  } catch {
    return null;
  }
}

/** A modifier on a desktop, a tap on a touch screen: a plain click belongs to the program. */
function isIntended(event: MouseEvent): boolean {
  return event.ctrlKey || event.metaKey || (event as PointerEvent).pointerType === 'touch';
}

/** Sets the terminal's link behaviour up; `ui` shows where a link leads. */
export function installLinks(term: Terminal, ui: LinkUi): void {
  const activate = (event: MouseEvent, uri: string) => {
    const target = openTarget(uri);
    if (target && isIntended(event)) window.open(target, '_blank', 'noopener,noreferrer');
  };
  const hover = (_: MouseEvent, uri: string) => {
    const target = openTarget(uri);
    ui.show(target ?? uri, target === null);
  };
  term.options.linkHandler = {
    activate,
    hover,
    leave: () => ui.hide(),
    allowNonHttpProtocols: false,
  };
  term.registerLinkProvider(new WrittenLinks(term, activate, hover, () => ui.hide()));
}

class WrittenLinks implements ILinkProvider {
  constructor(
    private readonly term: Terminal,
    private readonly activate: (event: MouseEvent, uri: string) => void,
    private readonly hover: (event: MouseEvent, uri: string) => void,
    private readonly leave: () => void,
  ) {}

  provideLinks(row: number, callback: (links: ILink[] | undefined) => void): void {
    const line = logicalLine(this.term, row - 1);
    const links: ILink[] = [];
    for (const match of line.text.matchAll(written)) {
      const text = trimTail(match[0]);
      const start = line.cells[match.index];
      const end = line.cells[match.index + text.length - 1];
      if (!start || !end || !openTarget(text)) continue;
      links.push({
        text,
        range: { start, end },
        activate: this.activate,
        hover: this.hover,
        leave: this.leave,
      });
    }
    callback(links.length > 0 ? links : undefined);
  }
}

interface LogicalLine {
  text: string;
  /** For each UTF-16 unit of the text, the cell (1-based) it stands in. */
  cells: { x: number; y: number }[];
}

/** The soft-wrapped rows around `row` (0-based) as one text. */
function logicalLine(term: Terminal, row: number): LogicalLine {
  const buffer = term.buffer.active;
  let first = row;
  while (first > 0 && row - first < wrapRowsMax && buffer.getLine(first)?.isWrapped) first--;
  const line: LogicalLine = { text: '', cells: [] };
  for (let y = first; y - row < wrapRowsMax; y++) {
    const cells = buffer.getLine(y);
    if (!cells || (y > first && !cells.isWrapped)) break;
    appendRow(line, cells, y, term.cols);
  }
  return line;
}

function appendRow(line: LogicalLine, cells: IBufferLine, y: number, cols: number): void {
  for (let x = 0; x < cols; x++) {
    const cell = cells.getCell(x);
    if (!cell || cell.getWidth() === 0) continue;
    const chars = cell.getChars() || ' ';
    line.text += chars;
    for (let i = 0; i < chars.length; i++) line.cells.push({ x: x + 1, y: y + 1 });
  }
}

/** Without the punctuation that ends a sentence, and a bracket that was not opened inside. */
function trimTail(uri: string): string {
  let text = uri.replace(/[.,;:!?]+$/, '');
  while (/[)\]]$/.test(text)) {
    const close = text.at(-1) as string;
    const open = close === ')' ? '(' : '[';
    if (text.split(open).length >= text.split(close).length) break;
    text = text.slice(0, -1).replace(/[.,;:!?]+$/, '');
  }
  return text;
}
