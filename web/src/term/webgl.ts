// SPDX-License-Identifier: Apache-2.0

// The WebGL renderer, lent to one terminal at a time. A browser allows a page
// about 16 contexts and kills the oldest beyond that, and disposing the addon
// does not free its context, so it is given back by hand.

import type { WebglAddon } from '@xterm/addon-webgl';
import type { Terminal } from '@xterm/xterm';

/** Below what a browser allows, for other pages of ours count too. Screens beyond it use the DOM. */
const contextsMax = 12;

let held = 0;

export class WebglLease {
  #addon: WebglAddon | null = null;
  #refused = false;
  #wanted = false;

  constructor(private readonly term: Terminal) {}

  /** Resolves when the renderer is final: WebGL, or the DOM where WebGL cannot be had. */
  async take(): Promise<void> {
    this.#wanted = true;
    if (this.#addon || this.#refused || held >= contextsMax) return;
    try {
      const { WebglAddon } = await import('@xterm/addon-webgl');
      if (!this.#wanted || this.#addon || held >= contextsMax) return;
      const addon = new WebglAddon();
      addon.onContextLoss(() => this.#lost());
      this.term.loadAddon(addon);
      this.#addon = addon;
      held++;
    } catch {
      this.#refused = true;
    }
  }

  release(): void {
    this.#wanted = false;
    const addon = this.#addon;
    if (!addon) return;
    this.#addon = null;
    held--;
    const contexts = contextsOf(this.term);
    addon.dispose();
    for (const gl of contexts) gl.getExtension('WEBGL_lose_context')?.loseContext();
  }

  /** The browser took the context away: the DOM renderer goes on, until the next take. */
  #lost(): void {
    const addon = this.#addon;
    if (!addon) return;
    this.#addon = null;
    held--;
    addon.dispose();
  }
}

function contextsOf(term: Terminal): WebGL2RenderingContext[] {
  const canvases = term.element?.querySelectorAll<HTMLCanvasElement>('.xterm-screen canvas') ?? [];
  // Asking a 2D canvas for WebGL gives null and leaves it as it is.
  return [...canvases].flatMap((canvas) => canvas.getContext('webgl2') ?? []);
}
