// SPDX-License-Identifier: Apache-2.0

// What a person orders: each is asked of the host, and it is said when it was not done.

import type { ReadonlySignal } from '@preact/signals';
import type { Ctl } from '../link/ctl';
import type { Size } from '../term/screen';
import { safeTitle } from '../term/title';
import type { Float, Window } from '../wire/verbs';
import type { Separator, Tab } from './layout';
import { Pane } from './pane';
import { reason } from './recovery';
import { dialog, say } from './ui';

/** Longest name that the host takes, in code points. */
const nameMax = 64;

/** What orders are given about, and whom they are given through. */
export interface OrdersDeps {
  /** Null while nobody is there to take an order. */
  ctl(): Ctl | null;
  active: ReadonlySignal<Pane | null>;
  tab: ReadonlySignal<Tab | null>;
  /** Where terminals are drawn. */
  stage: HTMLElement;
  find(id: string): Pane | undefined;
  /** A window as a verb has left it. */
  learn(window: Window): void;
  /** Shows a pane that a verb has made, once the host has told of it. */
  showWhenKnown(id: string): Promise<void>;
}

export class Orders {
  #creating = false;

  constructor(private readonly deps: OrdersDeps) {}

  /** A new terminal of this window's size, shown at once. */
  async create(): Promise<void> {
    if (this.#creating) return;
    this.#creating = true;
    await this.#give('No terminal was opened', async (ctl) => {
      const { pane } = await ctl.call('pane.new', await this.#measure());
      await this.deps.showWhenKnown(pane.id);
    });
    this.#creating = false;
  }

  /** A new terminal beside the active one, or below it. */
  async split(axis: 'cols' | 'rows'): Promise<void> {
    const pane = this.deps.active.value;
    if (!pane) return;
    await this.#give('No terminal was opened', async (ctl) => {
      const made = await ctl.call('pane.split', { pane: pane.id, axis });
      await this.deps.showWhenKnown(made.pane.id);
    });
  }

  /** Lets the active pane fill its window, or shows the others again. */
  async zoom(): Promise<void> {
    const pane = this.deps.active.value;
    const window = this.deps.tab.value?.window;
    if (!pane || !window) return;
    const off = window.zoomed !== '';
    const params = { pane: off ? window.zoomed : pane.id, off };
    await this.#change('Not zoomed', (ctl) => ctl.call('pane.zoom', params));
  }

  /** Takes the active pane out of the splits to lie above them, or puts it back. */
  async float(): Promise<void> {
    const pane = this.deps.active.value;
    const window = this.deps.tab.value?.window;
    if (!pane || !window) return;
    const floats = window.floats.some((float) => float.pane === pane.id);
    const beside = window.nodes.find((node) => node.kind === 'pane')?.pane ?? '';
    if (floats && !beside) return say('There are no splits to put it into.');
    const back = { pane: pane.id, beside, axis: 'cols' } as const;
    const params = floats ? back : { pane: pane.id };
    await this.#change('Not placed', (ctl) => ctl.call('pane.place', params));
  }

  /** Gives a float another place. */
  async place(pane: string, float: Float): Promise<void> {
    await this.#change('Not moved', (ctl) => ctl.call('pane.place', { pane, float }));
  }

  /** Moves the line between two tiles. */
  async setRatio({ pane, axis }: Separator, ratio: number): Promise<void> {
    await this.#change('Not moved', (ctl) => ctl.call('pane.resize', { pane, axis, ratio }));
  }

  /** Closes what a tab stands for; asks first when something runs in it. */
  requestCloseTab(tab: Tab): void {
    const pane = this.deps.find(tab.panes[0] ?? '');
    if (tab.window && tab.panes.length > 1) {
      dialog.value = { kind: 'closeWindow', window: tab.key, panes: tab.panes.length };
    } else if (pane) this.requestClose(pane);
  }

  /** Asks first when something runs in it. */
  requestClose(pane: Pane): void {
    if (pane.info.value.state === 'running') dialog.value = { kind: 'close', pane: pane.id };
    else void this.close(pane);
  }

  async close({ id }: Pane): Promise<void> {
    await this.#give('Not closed', (ctl) => ctl.call('pane.close', { pane: id }));
  }

  async closeWindow(id: string): Promise<void> {
    await this.#give('Not closed', (ctl) => ctl.call('window.close', { window: id }));
  }

  async rename({ id }: Pane, name: string): Promise<void> {
    const params = { pane: id, name: safeTitle(name, nameMax) };
    await this.#give('Not renamed', (ctl) => ctl.call('pane.rename', params));
  }

  async renameWindow(id: string, name: string): Promise<void> {
    const params = { window: id, name: safeTitle(name, nameMax) };
    await this.#change('Not renamed', (ctl) => ctl.call('window.rename', params));
  }

  /** A new execution in the place of an archive. Says why not, or '' when it runs. */
  async relaunch(pane: Pane, argv: string[]): Promise<string> {
    const ctl = this.deps.ctl();
    if (!ctl) return 'Not connected.';
    try {
      const params = { pane: pane.id, argv, ack_orphans: true };
      const made = await ctl.call('pane.relaunch', params);
      void this.deps.showWhenKnown(made.pane); // what asked for it makes room meanwhile
      return '';
    } catch (error) {
      return reason(error);
    }
  }

  /** A link for another browser. */
  async pairAnother(): Promise<void> {
    await this.#give('There is no link to give', async (ctl) => {
      dialog.value = { kind: 'pair', url: (await ctl.call('pair.new', {})).url };
    });
  }

  /** Never fails: `failed` is what is said then. */
  async #give(failed: string, work: (ctl: Ctl) => Promise<unknown>): Promise<void> {
    const ctl = this.deps.ctl();
    try {
      if (ctl) await work(ctl);
      else say(`Not connected. ${failed}.`);
    } catch (error) {
      say(`${failed}: ${error instanceof Error ? error.message : 'it did not work.'}`);
    }
  }

  /** Gives an order that changes a window. */
  #change(failed: string, work: (ctl: Ctl) => Promise<{ window: Window }>): Promise<void> {
    return this.#give(failed, async (ctl) => this.deps.learn((await work(ctl)).window));
  }

  /** The size a terminal of this window has, measured with the renderer it will use. */
  async #measure(): Promise<Size> {
    const shown = this.deps.active.value;
    if (shown) return shown.ownSize();
    const screen = Pane.newScreen(() => null);
    this.deps.stage.append(screen.element);
    try {
      await screen.show();
      return screen.fitSize() ?? { cols: 80, rows: 24 };
    } finally {
      screen.dispose();
    }
  }
}
