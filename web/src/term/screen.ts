// SPDX-License-Identifier: Apache-2.0

// The live screen of one pane: an xterm.js without scrollback, without replies.

import { FitAddon } from '@xterm/addon-fit';
import { Unicode11Addon } from '@xterm/addon-unicode11';
import { Terminal } from '@xterm/xterm';
import { concat } from './bytes';
import { installLinks, type LinkUi } from './links';
import { type ReplyGuard, swallowQueries } from './replies';
import { bufferText } from './rows';
import { clearBeforeRepaint, screenOptions, useUnicode11 } from './setup';
import { type Scheme, xtermTheme } from './theme';
import { WholeCharacters, writeWhole } from './utf8';
import { WebglLease } from './webgl';

export const fontFamily =
  'ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono", monospace';

/** Smallest text a watcher's screen is shrunk to, in CSS pixels; below it the pane scrolls. */
const shrunkFontMin = 6;

export interface Size {
  cols: number;
  rows: number;
}

export type InputKind = 'key' | 'mouse' | 'focus';

export interface ScreenOptions {
  fontSize: number;
  scheme: Scheme;
  screenReader: boolean;
  onInput(bytes: Uint8Array, kind: InputKind): void;
  /** Text of a paste event, before any check. */
  onPaste(text: string): void;
  /** A program wanted the clipboard and did not get it. */
  onClipboard(): void;
  links: LinkUi;
}

const utf8 = new TextEncoder();

export class LiveScreen {
  readonly term: Terminal;
  readonly element: HTMLElement;
  readonly #fit = new FitAddon();
  readonly #webgl: WebglLease;
  readonly #guard: ReplyGuard;
  readonly #paintCode = crypto.randomUUID();
  readonly #whole = new WholeCharacters();
  #painting = false;
  #fontSize: number;
  #cell: { width: number; height: number } | null = null;

  constructor(private readonly options: ScreenOptions) {
    this.element = document.createElement('div');
    this.element.className = 'screen';
    this.#fontSize = options.fontSize;
    this.term = new Terminal({
      ...screenOptions,
      fontFamily,
      fontSize: options.fontSize,
      theme: xtermTheme(options.scheme),
      screenReaderMode: options.screenReader,
      cursorBlink: true,
      cursorInactiveStyle: 'outline',
      macOptionIsMeta: true,
      rightClickSelectsWord: false,
      drawBoldTextInBrightColors: false,
    });
    useUnicode11(this.term, new Unicode11Addon());
    this.term.loadAddon(this.#fit);
    this.#guard = swallowQueries(this.term.parser, options.onClipboard);
    // Marks the very moment at which a repaint begins to be parsed; see #emit.
    this.term.parser.registerOscHandler(5379, (code) => {
      if (code === this.#paintCode) this.#painting = true;
      return true;
    });
    this.#webgl = new WebglLease(this.term);
    installLinks(this.term, options.links);
    this.term.onData((data) => this.#emit(utf8.encode(data), kindOf(data)));
    this.term.onBinary((data) =>
      this.#emit(
        Uint8Array.from(data, (c) => c.charCodeAt(0)),
        'mouse',
      ),
    );
    this.element.addEventListener('paste', (event) => this.takePaste(event), true);
  }

  /** Opens the terminal in its element, which must be in the page and have a size. */
  open(): void {
    if (!this.term.element) this.term.open(this.element);
  }

  /** Resolves when the renderer that will be used is in place and cells have their size. */
  async show(): Promise<void> {
    this.element.hidden = false;
    this.open();
    await this.#webgl.take();
  }

  hide(): void {
    this.element.hidden = true;
    this.#webgl.release();
  }

  dispose(): void {
    this.#webgl.release();
    this.#guard.dispose();
    this.term.dispose();
    this.element.remove();
  }

  /** Sets the size and paints the whole screen; nothing of the earlier one remains. */
  paint(cols: number, rows: number, screen: Uint8Array): void {
    this.term.resize(cols, rows);
    const before = utf8.encode(`${clearBeforeRepaint}\x1b]5379;${this.#paintCode}\x07`);
    this.#whole.reset();
    // One write is parsed in one go: no frame shows the cleared screen, no key falls into it.
    writeWhole(this.term, concat([before, this.#whole.next(screen)]), () => this.#parsed());
  }

  write(bytes: Uint8Array, done: () => void): void {
    writeWhole(this.term, this.#whole.next(bytes), () => {
      this.#parsed();
      done();
    });
  }

  /** How many cells of the person's own text size fit the pane; null when it is hidden. */
  fitSize(): Size | null {
    if (this.element.hidden || !this.term.element) return null;
    if (this.term.options.fontSize !== this.#fontSize) this.term.options.fontSize = this.#fontSize;
    const size = this.#fit.proposeDimensions();
    if (!size || !Number.isFinite(size.cols) || !Number.isFinite(size.rows)) return null;
    this.#measure();
    return { cols: clamp(size.cols), rows: clamp(size.rows) };
  }

  /** A cell of the person's own text size in CSS pixels, as fitSize found it last; null before. */
  get cell(): { width: number; height: number } | null {
    return this.#cell;
  }

  #measure(): void {
    const grid = this.term.element?.querySelector<HTMLElement>('.xterm-screen');
    if (!grid || grid.offsetWidth === 0 || grid.offsetHeight === 0) return;
    const { cols, rows } = this.term;
    this.#cell = { width: grid.offsetWidth / cols, height: grid.offsetHeight / rows };
  }

  /** Shrinks the text so that a screen of another window's size fits this one. */
  shrinkToFit(): void {
    const own = this.fitSize();
    if (!own) return;
    const ratio = Math.min(own.cols / this.term.cols, own.rows / this.term.rows, 1);
    let font = Math.max(shrunkFontMin, Math.floor(this.#fontSize * ratio * 2) / 2);
    this.term.options.fontSize = font;
    while (font > shrunkFontMin && !this.#fits()) {
      font -= 0.5;
      this.term.options.fontSize = font;
    }
  }

  setLook(fontSize: number, scheme: Scheme, screenReader: boolean): void {
    this.#fontSize = fontSize;
    this.term.options.fontSize = fontSize;
    this.term.options.theme = xtermTheme(scheme);
    this.term.options.screenReaderMode = screenReader;
  }

  /** The visible rows as text, wrapped rows joined. */
  text(): string {
    return bufferText(this.term.buffer.active, this.term.rows);
  }

  #fits(): boolean {
    const screen = this.term.element?.querySelector<HTMLElement>('.xterm-screen');
    if (!screen) return true;
    return (
      screen.offsetWidth <= this.element.clientWidth &&
      screen.offsetHeight <= this.element.clientHeight
    );
  }

  #parsed(): void {
    this.#painting = false;
    this.#guard.parsed();
  }

  /**
   * Parsing is synchronous, so whatever comes while a repaint is being parsed
   * is a reply to it (such as the focus report that mode 1004 causes), never a
   * key, and the program did not ask for it now.
   */
  #emit(bytes: Uint8Array, kind: InputKind): void {
    if (this.#painting || this.#guard.mixed) return;
    this.options.onInput(bytes, kind);
  }

  /** Hands on the text of a paste event, which does nothing else then. */
  takePaste(event: ClipboardEvent): void {
    event.preventDefault();
    event.stopPropagation();
    this.options.onPaste(event.clipboardData?.getData('text/plain') ?? '');
  }
}

function kindOf(data: string): InputKind {
  if (data === '\x1b[I' || data === '\x1b[O') return 'focus';
  return /^\x1b\[(?:M|<[0-9;]+[Mm]$)/.test(data) ? 'mouse' : 'key';
}

function clamp(cells: number): number {
  return Math.min(1000, Math.max(2, cells));
}
