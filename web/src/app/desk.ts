// SPDX-License-Identifier: Apache-2.0

// All panes of the host, which one is shown, and what the host says about them.

import { computed, effect, signal } from '@preact/signals';
import type { LinkFailure } from '../link/errors';
import { Link, type LinkState } from '../link/link';
import type { Session } from '../link/peer';
import type { LiveScreen, Size } from '../term/screen';
import { safeTitle } from '../term/title';
import type { CtlEvent, PaneInfo } from '../wire/ctl';
import { Pane } from './pane';
import { fontSize, scheme, screenReader } from './settings';
import { dialog, forgetRefusal, say } from './ui';

const activeKey = 'spawn.active';

export interface DeskOptions {
  connect(onEvent: (event: CtlEvent) => void, onRtt: (ms: number) => void): Promise<Session>;
  stage: HTMLElement;
}

export class Desk {
  readonly panes = signal<readonly Pane[]>([]);
  readonly active = signal<Pane | null>(null);
  readonly link = signal<LinkState>({ phase: 'connecting', since: Date.now(), failure: null });
  readonly rtt = signal<number | null>(null);
  readonly hostName = signal('');
  /** The host has told all its panes at least once. */
  readonly known = signal(false);
  readonly connected = computed(() => this.link.value.phase === 'up');

  readonly #link: Link;
  #session: Session | null = null;
  #seen = new Set<string>();
  #spare: LiveScreen | null = null;
  #creating = false;

  constructor(private readonly options: DeskOptions) {
    this.#link = new Link({
      connect: () =>
        options.connect(
          (event) => this.#event(event),
          (ms) => {
            this.rtt.value = ms;
          },
        ),
      now: () => Date.now(),
      random: Math.random,
    });
    this.#link.onState = (state) => this.#linkChanged(state);
    new ResizeObserver(() => this.active.peek()?.layout()).observe(options.stage);
    effect(() => this.#look(fontSize.value, screenReader.value));
  }

  start(): void {
    this.#link.start();
  }

  wake(): void {
    this.#link.wake();
  }

  /** Ends the session as the page goes away, so that nobody takes it for a viewer. */
  leave(): void {
    this.#link.leave();
  }

  /** The reason for which the link gave up, if it did. */
  get halted(): LinkFailure | null {
    const state = this.link.value;
    return state.phase === 'halted' ? state.failure : null;
  }

  /** Shows this pane; attaches it when it was never shown. */
  async show(pane: Pane): Promise<void> {
    const before = this.active.value;
    if (before === pane) return pane.screen.term.focus();
    before?.reveal.close();
    before?.screen.hide();
    this.active.value = pane;
    pane.attention.value = false;
    forgetRefusal();
    remember(pane.id);
    this.options.stage.append(pane.screen.element);
    await pane.screen.show();
    if (this.active.value !== pane) return pane.screen.hide();
    pane.layout();
    pane.screen.term.focus();
    if (this.#session) await this.#attach(pane, this.#session);
  }

  step(by: number): void {
    const panes = this.panes.value;
    const at = panes.indexOf(this.active.value as Pane);
    const next = panes[(at + by + panes.length) % panes.length];
    if (next) void this.show(next);
  }

  /** A new terminal of this window's size, shown at once. */
  async create(): Promise<void> {
    if (!this.#session) return say('Not connected. No terminal was opened.');
    if (this.#creating) return;
    this.#creating = true;
    try {
      const size = await this.#measure();
      const { pane: info } = await this.#session.ctl.request('pane.new', size);
      await this.show(this.#upsert(info));
    } catch (error) {
      say(
        error instanceof Error
          ? `No terminal was opened: ${error.message}`
          : 'No terminal was opened.',
      );
    } finally {
      this.#creating = false;
    }
  }

  /** Asks first when something runs in it. */
  requestClose(pane: Pane): void {
    if (pane.info.value.state === 'running') dialog.value = { kind: 'close', pane: pane.id };
    else void this.close(pane);
  }

  async close(pane: Pane): Promise<void> {
    try {
      await this.#session?.ctl.request('pane.close', { pane: pane.id });
    } catch (error) {
      say(error instanceof Error ? `Not closed: ${error.message}` : 'Not closed.');
    }
  }

  async rename(pane: Pane, name: string): Promise<void> {
    try {
      await this.#session?.ctl.request('pane.rename', { pane: pane.id, name: safeTitle(name, 64) });
    } catch (error) {
      say(error instanceof Error ? `Not renamed: ${error.message}` : 'Not renamed.');
    }
  }

  /** A link for another browser. */
  async pairAnother(): Promise<void> {
    try {
      const result = await this.#session?.ctl.request('pair.new', {});
      if (result) dialog.value = { kind: 'pair', url: result.url };
      else say('Not connected. There is no link to give.');
    } catch (error) {
      say(error instanceof Error ? error.message : 'There is no link to give.');
    }
  }

  find(id: string): Pane | undefined {
    return this.panes.value.find((pane) => pane.id === id);
  }

  #linkChanged(state: LinkState): void {
    const session = state.phase === 'up' ? state.session : null;
    this.link.value = state;
    if (session === this.#session) return;
    this.#session = session;
    if (session) this.hostName.value = session.hello.server.host_name;
    else this.#sessionLost();
  }

  #sessionLost(): void {
    this.rtt.value = null;
    this.#seen.clear();
    for (const pane of this.panes.value) pane.away();
  }

  /** Every pane that was open before is seeded anew, the one that is seen first. */
  async #attachAll(session: Session): Promise<void> {
    const active = this.active.value;
    const open = this.panes.value.filter((pane) => pane === active || pane.size.value.cols > 0);
    open.sort((a, b) => Number(b === active) - Number(a === active));
    for (const pane of open) {
      if (this.#session !== session) return;
      if (this.panes.value.includes(pane)) await this.#attach(pane, session);
    }
  }

  /** A lost one has no worker to attach to. */
  async #attach(pane: Pane, session: Session): Promise<void> {
    if (pane.attached || pane.info.value.state === 'lost') return;
    await pane.attach(session, pane.ownSize());
  }

  #event(event: CtlEvent): void {
    switch (event.event) {
      case 'pane':
        this.#seen.add(event.pane.id);
        this.#upsert(event.pane);
        return;
      case 'pane_removed':
        return this.#remove(event.pane);
      case 'panes_ready':
        return this.#ready();
      default: {
        const pane = this.find(event.pane);
        pane?.event(event);
        if (pane && pane === this.active.value) pane.attention.value = false;
      }
    }
  }

  #upsert(info: PaneInfo): Pane {
    const known = this.find(info.id);
    if (known) {
      known.info.value = info;
      this.#sort();
      return known;
    }
    const pane: Pane = this.#build(info);
    this.panes.value = [...this.panes.value, pane];
    this.#sort();
    return pane;
  }

  #build(info: PaneInfo): Pane {
    let built: Pane | null = null;
    const screen = Pane.newScreen(() => built);
    screen.element.hidden = true;
    built = new Pane(info, screen);
    return built;
  }

  #sort(): void {
    this.panes.value = [...this.panes.value].sort(
      ({ info: { value: a } }, { info: { value: b } }) =>
        a.session_index - b.session_index || a.index - b.index || a.place - b.place,
    );
  }

  #remove(id: string): void {
    const pane = this.find(id);
    if (!pane) return;
    const at = this.panes.value.indexOf(pane);
    const wasActive = this.active.value === pane;
    this.panes.value = this.panes.value.filter((other) => other !== pane);
    if (wasActive) this.active.value = null;
    pane.dispose();
    const next = this.panes.value[Math.min(at, this.panes.value.length - 1)];
    if (wasActive && next) void this.show(next);
  }

  /** The host has told all it has: what it did not tell is gone. */
  #ready(): void {
    for (const pane of this.panes.value) {
      if (!this.#seen.has(pane.id)) this.#remove(pane.id);
    }
    const first = !this.known.value;
    this.known.value = true;
    if (this.#session) void this.#attachAll(this.#session);
    if (this.active.value) return;
    const pane = this.find(recall()) ?? this.panes.value[0];
    if (pane) void this.show(pane);
    else if (first) void this.create();
  }

  /** The size a terminal of this window has, measured with the renderer it will use. */
  async #measure(): Promise<Size> {
    const shown = this.active.value;
    if (shown) return shown.ownSize();
    const screen = this.#spare ?? Pane.newScreen(() => null);
    this.#spare = screen;
    this.options.stage.append(screen.element);
    await screen.show();
    const size = screen.fitSize() ?? { cols: 80, rows: 24 };
    screen.dispose();
    this.#spare = null;
    return size;
  }

  #look(size: number, reader: boolean): void {
    const current = scheme();
    for (const pane of this.panes.peek()) {
      pane.reveal.close();
      pane.screen.setLook(size, current, reader);
      pane.pushTheme();
    }
    this.active.peek()?.layout();
  }
}

/** What a pane is called: the name it was given, its title, what runs in it, its id. */
export function paneLabel(info: PaneInfo): string {
  return (
    safeTitle(info.name) || safeTitle(info.title) || safeTitle(info.foreground ?? '') || info.id
  );
}

function remember(id: string): void {
  try {
    sessionStorage.setItem(activeKey, id);
  } catch {
    // The first pane is shown after a reload.
  }
}

function recall(): string {
  try {
    return sessionStorage.getItem(activeKey) ?? '';
  } catch {
    return '';
  }
}
