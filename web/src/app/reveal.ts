// SPDX-License-Identifier: Apache-2.0

// Opens and closes the scrollback of one pane, and takes wheel and touch on
// its screen.

import { signal } from '@preact/signals';
import { Overlay, wheelLines } from '../term/overlay';
import type { Pane } from './pane';
import { scheme } from './settings';
import { hoveredLink, say } from './ui';

/** A finger must move this far, in CSS pixels, before it scrolls. */
const dragMin = 8;

/** Part of the speed that is left after each frame of coasting. */
const coastKeep = 0.94;

export class Reveal {
  /** Lines below the view while the scrollback is open, else null. */
  readonly below = signal<number | null>(null);
  readonly searching = signal(false);

  #overlay: Overlay | null = null;
  #opening = false;
  #drag: { y: number; rest: number; speed: number; at: number; moved: boolean } | null = null;
  #coasting = 0;

  constructor(private readonly pane: Pane) {
    const { element, term } = pane.screen;
    term.attachCustomWheelEventHandler((event) => this.#wheel(event));
    element.addEventListener('touchstart', (event) => this.#touchStart(event), { passive: true });
    element.addEventListener('touchmove', (event) => this.#touchMove(event), { passive: false });
    element.addEventListener('touchend', () => this.#touchEnd(), { passive: true });
    element.addEventListener('touchcancel', () => this.#touchEnd(), { passive: true });
    element.addEventListener('copy', (event) => this.#copy(event), true);
  }

  get isOpen(): boolean {
    return this.#overlay !== null;
  }

  get selection(): string {
    return this.#overlay?.selection ?? this.pane.screen.term.getSelection();
  }

  /** Opens the scrollback, scrolled up by so many lines. */
  async open(lines: number): Promise<void> {
    if (this.#overlay || this.#opening) return;
    if (this.pane.history.unavailable) return say('This terminal keeps no history.');
    this.#opening = true;
    try {
      const { cols, rows } = this.pane.screen.term;
      const overlay = await Overlay.open(this.pane.screen, this.pane.history, lines, {
        scheme: scheme(),
        links: {
          show: (target, refused) => {
            hoveredLink.value = { target, refused };
          },
          hide: () => {
            hoveredLink.value = null;
          },
        },
        onLeave: () => this.close(),
        onScroll: () => this.#scrolled(),
      });
      const now = this.pane.screen.term;
      if (cols !== now.cols || rows !== now.rows) return overlay.dispose();
      this.#overlay = overlay;
      // Keys go on to the live screen, where typing closes the overlay.
      this.#overlay.element.addEventListener('focusin', () => this.pane.screen.term.focus());
      this.#scrolled();
    } finally {
      this.#opening = false;
    }
  }

  close(): void {
    if (!this.#overlay) return;
    this.#overlay.dispose();
    this.#overlay = null;
    this.below.value = null;
    this.searching.value = false;
    hoveredLink.value = null;
  }

  /** A key that moves the scrollback; false when it is not one, or nothing is open. */
  key(event: KeyboardEvent): boolean {
    const overlay = this.#overlay;
    if (!overlay || event.ctrlKey || event.metaKey || event.altKey) return false;
    const moves: Record<string, () => void> = {
      PageUp: () => overlay.page(-1),
      PageDown: () => overlay.page(1),
      ArrowUp: () => overlay.scroll(-1),
      ArrowDown: () => overlay.scroll(1),
      Home: () => overlay.top(),
      End: () => this.close(),
      Escape: () => this.close(),
    };
    const move = Object.hasOwn(moves, event.key) ? moves[event.key] : undefined;
    move?.();
    return move !== undefined;
  }

  /** Up when negative. Opens the scrollback when it is closed. */
  scroll(lines: number): void {
    if (this.#overlay) this.#overlay.scroll(lines);
    else if (lines < 0) void this.open(-lines);
  }

  page(pages: number): void {
    this.scroll(pages * Math.max(1, this.pane.screen.term.rows - 1));
  }

  async search(): Promise<void> {
    await this.open(1);
    this.searching.value = this.isOpen;
  }

  async find(text: string, backwards: boolean): Promise<boolean> {
    if (!text) {
      this.#overlay?.clearFind();
      return true;
    }
    return (await this.#overlay?.find(text, backwards)) ?? false;
  }

  endSearch(): void {
    this.#overlay?.clearFind();
    this.searching.value = false;
    this.pane.screen.term.focus();
  }

  /** A still picture of another width would lie about where lines break. */
  geometryChanged(cols: number, rows: number): void {
    const { term } = this.pane.screen;
    if (cols !== term.cols || rows !== term.rows) this.close();
  }

  #scrolled(): void {
    this.below.value = this.#overlay?.below ?? null;
  }

  #wheel(event: WheelEvent): boolean {
    const { term } = this.pane.screen;
    if (event.ctrlKey) return false;
    // Programs that want the wheel get it: by mouse mode, or on the alternate screen as arrow keys.
    if (term.modes.mouseTrackingMode !== 'none' && !event.shiftKey) return true;
    if (term.buffer.active.type === 'alternate') return true;
    event.preventDefault();
    const lines = wheelLines(event, term.rows);
    if (lines < 0) this.scroll(lines);
    return false;
  }

  #touchStart(event: TouchEvent): void {
    cancelAnimationFrame(this.#coasting);
    const touch = event.touches[0];
    const alone = event.touches.length === 1 && touch;
    this.#drag = alone
      ? { y: touch.clientY, rest: 0, speed: 0, at: event.timeStamp, moved: false }
      : null;
  }

  #touchMove(event: TouchEvent): void {
    const drag = this.#drag;
    const touch = event.touches[0];
    if (!drag || !touch) return;
    const moved = drag.y - touch.clientY;
    if (!drag.moved && Math.abs(moved) < dragMin) return;
    event.preventDefault();
    drag.moved = true;
    drag.y = touch.clientY;
    drag.speed = moved / Math.max(1, event.timeStamp - drag.at);
    drag.at = event.timeStamp;
    drag.rest = this.#move(moved + drag.rest, touch);
  }

  #touchEnd(): void {
    const drag = this.#drag;
    this.#drag = null;
    if (drag?.moved && this.#overlay) this.#coast(drag.speed, performance.now(), 0);
  }

  #coast(speed: number, before: number, rest: number): void {
    if (Math.abs(speed) < 0.05 || !this.#overlay) return;
    this.#coasting = requestAnimationFrame((now) => {
      const left = this.#move(speed * (now - before) + rest, null);
      this.#coast(speed * coastKeep, now, left);
    });
  }

  /** Moves by pixels; returns those that make no whole line yet. */
  #move(pixels: number, touch: Touch | null): number {
    const { term, element } = this.pane.screen;
    const screen = element.querySelector<HTMLElement>('.xterm-screen');
    const height = (screen?.offsetHeight ?? 0) / term.rows || 16;
    const lines = Math.trunc(pixels / height);
    if (lines !== 0) {
      const program =
        term.modes.mouseTrackingMode !== 'none' || term.buffer.active.type === 'alternate';
      if (program && !this.#overlay && touch) this.#wheelFor(lines, touch, screen);
      else this.scroll(lines);
    }
    return pixels - lines * height;
  }

  /** A full-screen program gets the finger as a wheel. */
  #wheelFor(lines: number, touch: Touch, target: HTMLElement | null): void {
    for (let i = 0; i < Math.abs(lines); i++) {
      target?.dispatchEvent(
        new WheelEvent('wheel', {
          deltaY: Math.sign(lines),
          deltaMode: WheelEvent.DOM_DELTA_LINE,
          clientX: touch.clientX,
          clientY: touch.clientY,
          bubbles: true,
          cancelable: true,
        }),
      );
    }
  }

  #copy(event: ClipboardEvent): void {
    const text = this.#overlay?.selection;
    if (!text) return;
    event.clipboardData?.setData('text/plain', text);
    event.preventDefault();
    event.stopPropagation();
  }
}
