// SPDX-License-Identifier: Apache-2.0

// The scrollback: a second terminal, in which the history is written as flowing
// text and the live screen is painted below. It is a still picture of the
// moment it was opened; live output goes on beneath it.

import type { SearchAddon } from '@xterm/addon-search';
import type { SerializeAddon } from '@xterm/addon-serialize';
import { Unicode11Addon } from '@xterm/addon-unicode11';
import { Terminal } from '@xterm/xterm';
import type { History } from './history';
import { installLinks, type LinkUi } from './links';
import { swallowQueries } from './replies';
import { fontFamily, type LiveScreen } from './screen';
import { screenOptions, useUnicode11 } from './setup';
import { type Scheme, xtermTheme } from './theme';
import { writeWhole } from './utf8';

/** History written at first; more of it, eight times as much, on reaching the top. */
const firstSpan = 512 << 10;
const spanGrowth = 8;

/** Rows the overlay holds at most; what is older is in the saved text. */
const rowsMax = 100_000;

export interface OverlayOptions {
  scheme: Scheme;
  links: LinkUi;
  /** Scrolled to the bottom, or typed: back to the live screen. */
  onLeave(): void;
  onScroll(): void;
}

export class Overlay {
  readonly element: HTMLElement;
  #term: Terminal;
  #search: SearchAddon | null = null;
  #span = firstSpan;
  #whole = false;
  #growing: Promise<void> | null = null;
  #disposed = false;
  #screenText = '';
  #text: Uint8Array;

  private constructor(
    private readonly live: LiveScreen,
    history: History,
    serialize: SerializeAddon,
    private readonly options: OverlayOptions,
  ) {
    this.element = document.createElement('div');
    this.element.className = 'overlay';
    this.#text = history.text();
    this.#screenText = serialize.serialize({
      range: { start: 0, end: live.term.rows - 1 },
      excludeModes: true,
      excludeAltBuffer: true,
    });
    this.#term = this.#make();
  }

  /** Builds the overlay over `live`, scrolled up by `lines`, and shows it when it is complete. */
  static async open(
    live: LiveScreen,
    history: History,
    lines: number,
    options: OverlayOptions,
  ): Promise<Overlay> {
    const { SerializeAddon } = await import('@xterm/addon-serialize');
    const serialize = new SerializeAddon();
    live.term.loadAddon(serialize);
    const overlay = new Overlay(live, history, serialize, options);
    serialize.dispose();
    live.element.append(overlay.element);
    await overlay.#fill(overlay.#term);
    overlay.scroll(-Math.max(1, lines));
    return overlay;
  }

  /** Lines between the view's end and the bottom. */
  get below(): number {
    const buffer = this.#term.buffer.active;
    return buffer.baseY - buffer.viewportY;
  }

  get selection(): string {
    return this.#term.getSelection();
  }

  /** Scrolls by lines, up when negative; leaves when the bottom is reached going down. */
  scroll(lines: number): void {
    this.#term.scrollLines(lines);
    if (lines > 0 && this.below === 0) this.options.onLeave();
    else this.options.onScroll();
    if (lines < 0 && this.#term.buffer.active.viewportY === 0) void this.#grow();
  }

  page(pages: number): void {
    this.scroll(pages * Math.max(1, this.#term.rows - 1));
  }

  top(): void {
    this.scroll(-this.#term.buffer.active.viewportY);
  }

  /** Finds the text before or after the last match; resolves to whether there is one. */
  async find(text: string, backwards: boolean): Promise<boolean> {
    if (!this.#search) {
      while (!this.#whole && !this.#disposed) await this.#grow();
      const { SearchAddon } = await import('@xterm/addon-search');
      if (this.#disposed) return false;
      this.#search = new SearchAddon();
      this.#term.loadAddon(this.#search);
    }
    const found = backwards ? this.#search.findPrevious(text) : this.#search.findNext(text);
    this.options.onScroll();
    return found;
  }

  clearFind(): void {
    this.#search?.clearDecorations();
    this.#term.clearSelection();
  }

  dispose(): void {
    this.#disposed = true;
    this.#term.dispose();
    this.element.remove();
  }

  #make(): Terminal {
    const { live } = this;
    const term = new Terminal({
      ...screenOptions,
      scrollback: rowsMax,
      cols: live.term.cols,
      rows: live.term.rows,
      fontFamily,
      fontSize: live.term.options.fontSize ?? 14,
      theme: { ...xtermTheme(this.options.scheme), cursor: 'transparent' },
      cursorInactiveStyle: 'none',
      scrollOnUserInput: false,
      disableStdin: true,
    });
    useUnicode11(term, new Unicode11Addon());
    swallowQueries(term.parser);
    installLinks(term, this.options.links);
    term.attachCustomWheelEventHandler((event) => this.#wheel(event));
    return term;
  }

  async #fill(term: Terminal): Promise<void> {
    const layer = document.createElement('div');
    layer.className = 'overlay-layer';
    this.element.append(layer);
    term.open(layer);
    const text = newestLines(this.#text, this.#span);
    this.#whole = text.length === this.#text.length;
    await write(term, '\x1b[?25l');
    await new Promise<void>((resolve) => writeWhole(term, text, resolve));
    await write(term, '\x1b[0m\x1b]8;;\x1b\\');
    const start = term.registerMarker(0);
    await write(term, this.#screenText);
    // The screen takes its whole height, so that nothing moves when the overlay opens.
    const used = term.buffer.active.baseY + term.buffer.active.cursorY - (start?.line ?? 0) + 1;
    await write(term, `\x1b[0m${'\r\n'.repeat(Math.max(0, term.rows - used))}`);
    term.scrollToBottom();
  }

  /** Puts a longer one in its place, at the same view; one at a time. */
  #grow(): Promise<void> {
    if (this.#whole || this.#disposed) return Promise.resolve();
    this.#growing ??= this.#build().finally(() => {
      this.#growing = null;
    });
    return this.#growing;
  }

  async #build(): Promise<void> {
    this.#span *= spanGrowth;
    const next = this.#make();
    await this.#fill(next);
    if (this.#disposed) return next.dispose();
    next.scrollLines(-this.below);
    this.#term.dispose();
    this.#term = next;
    this.element.firstElementChild?.remove();
    this.#search = null;
  }

  #wheel(event: WheelEvent): boolean {
    event.preventDefault();
    const lines = wheelLines(event, this.#term.rows);
    if (lines !== 0) this.scroll(lines);
    return false;
  }
}

/** Wheel movement in lines, at least one; 0 for a sideways one. */
export function wheelLines(event: WheelEvent, rows: number): number {
  if (event.deltaY === 0 || event.shiftKey) return 0;
  const size =
    event.deltaMode === 1
      ? event.deltaY
      : event.deltaMode === 2
        ? event.deltaY * rows
        : event.deltaY / 20;
  return Math.sign(size) * Math.max(1, Math.round(Math.abs(size)));
}

function newestLines(text: Uint8Array, max: number): Uint8Array {
  if (text.length <= max) return text;
  const cut = text.indexOf(0x0a, text.length - max);
  return cut < 0 ? text : text.subarray(cut + 1);
}

function write(term: Terminal, data: string): Promise<void> {
  return new Promise((resolve) => term.write(data, resolve));
}
