// SPDX-License-Identifier: Apache-2.0

// All panes of the host, which one is shown, and what the host says about them. What a
// person orders is in orders.ts.

import { computed, effect, signal, untracked } from '@preact/signals';
import type { LinkFailure } from '../link/errors';
import { failedWith } from '../link/ctl';
import { Link, type LinkState } from '../link/link';
import type { Hello, Session } from '../link/peer';
import type { CtlEvent, PaneInfo, Visit } from '../wire/ctl';
import type { Session as WindowSession, Window } from '../wire/verbs';
import {
  type Extent,
  floatBox,
  movedBy,
  offsetAt,
  layoutOf,
  panesOf,
  type Rect,
  type Separator,
  type Tab,
  tabsOf,
} from './layout';
import { makeGrip } from './grip';
import { labelOf } from './label';
import { Orders } from './orders';
import { Pane } from './pane';
import { Recovery, recordText } from './recovery';
import { Sharing } from './sharing';
import { type Frame, Stage } from './stage';
import { fontSize, scheme, screenReader } from './settings';
import { dialog, forgetRefusal } from './ui';

const activeKey = 'spawn.active';

/** Refusals after which this browser may not see what it has seen. */
const closesOut = new Set<LinkFailure>(['unknown_device', 'share_ended']);

export interface DeskOptions {
  connect(onEvent: (event: CtlEvent) => void, onRtt: (ms: number) => void): Promise<Session>;
  /** The page shows what a share link leads to, and offers nothing that a visitor may not do. */
  guest: boolean;
  /** Makes the tab an ordinary one again. */
  leave(): void;
}

/** A phone has room for one terminal. */
const narrowQuery = matchMedia('(max-width: 600px)');

export class Desk {
  readonly panes = signal<readonly Pane[]>([]);
  readonly active = signal<Pane | null>(null);
  readonly link = signal<LinkState>({ phase: 'connecting', since: Date.now(), failure: null });
  readonly rtt = signal<number | null>(null);
  readonly hostName = signal('');
  /** The host has told all its panes at least once. */
  readonly known = signal(false);
  /** Who the host takes this page for. */
  readonly principal = signal('');
  /** What the share link shows; null before the host has told, and for a paired browser. */
  readonly visit = signal<Visit | null>(null);
  /** Keys of this page may reach a terminal. */
  readonly types = computed(() => !this.guest || this.visit.value?.right === 'write');
  readonly sharing = new Sharing(() => this.#session?.ctl ?? null);
  readonly recovery = new Recovery(() => this.#session?.ctl ?? null);
  readonly windows = signal<readonly Window[]>([]);
  readonly sessions = signal<readonly WindowSession[]>([]);
  /** The host serves the verbs of windows. */
  readonly arranges = signal(false);
  readonly narrow = signal(narrowQuery.matches);
  readonly tabs = computed(() =>
    tabsOf(
      this.windows.value,
      this.sessions.value,
      this.panes.value.map(({ id, info }) => ({ id, window: info.value.window })),
    ),
  );
  readonly tab = computed(() => {
    const id = this.active.value?.id ?? '';
    return this.tabs.value.find((tab) => tab.panes.includes(id)) ?? null;
  });
  readonly stage = new Stage({
    onDrag: (separator, ratio) => {
      this.#held.value = { window: this.tab.value?.key ?? '', node: separator.node, ratio };
    },
    onDrop: (separator, ratio) => void this.#setRatio(separator, ratio),
  });
  readonly orders = new Orders({
    ctl: () => this.#session?.ctl ?? null,
    active: this.active,
    tab: this.tab,
    stage: this.stage.element,
    find: (id) => this.find(id),
    learn: (window) => this.#learn(window),
    showWhenKnown: (id) => this.#showWhenKnown(id),
  });
  readonly connected = computed(() => this.link.value.phase === 'up');

  readonly #link: Link;
  #session: Session | null = null;
  #seen = new Set<string>();
  /** A pane that is shown as soon as the host tells of it; '' for none. */
  #wanted = '';
  /** A separator that is dragged. */
  readonly #held = signal<{ window: string; node: number; ratio: number } | null>(null);
  /** A float that is carried, and how many CSS pixels from its place it is. */
  readonly #carried = signal<{ pane: Pane; x: number; y: number } | null>(null);
  /** The pane that was shown last of each window. */
  readonly #last = new Map<string, string>();
  #asking: 'no' | 'once' | 'again' = 'no';
  /** The stage, in CSS pixels. */
  readonly #area = signal<Extent>({ width: 0, height: 0 });
  readonly #frame = computed(() => this.#draw());

  readonly guest: boolean;

  constructor(private readonly options: DeskOptions) {
    this.guest = options.guest;
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
    new ResizeObserver(() => {
      const { clientWidth, clientHeight } = this.stage.element;
      this.#area.value = { width: clientWidth, height: clientHeight };
      this.#fit();
    }).observe(this.stage.element);
    narrowQuery.addEventListener('change', (event) => {
      this.narrow.value = event.matches;
    });
    effect(() => this.#look(fontSize.value, screenReader.value));
    effect(() => {
      const frame = this.#frame.value;
      untracked(() => this.#present(frame));
    });
  }

  start(): void {
    this.#link.start();
  }

  wake(): void {
    this.#link.wake();
  }

  /** The person looks at the page again. */
  returned(): void {
    if (this.active.value) this.active.value.attention.value = false;
    this.wake();
  }

  /** Ends a visit for good. */
  leaveVisit(): void {
    this.options.leave();
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

  /** A person turns to this pane: it is shown, and is the active one of its window from now on. */
  async show(pane: Pane): Promise<void> {
    this.#tellFocus(pane);
    await this.#show(pane);
  }

  /** Shows this pane; attaches it when it was never shown. */
  async #show(pane: Pane): Promise<void> {
    const before = this.active.value;
    if (before === pane) return pane.screen.term.focus();
    this.#activate(pane);
    await this.#reveal(pane);
    if (this.active.value === pane) pane.screen.term.focus();
  }

  /** Makes it the one that keys go to. What is seen follows. */
  #activate(pane: Pane): void {
    if (this.active.value === pane) return;
    this.active.value = pane;
    pane.attention.value = false;
    forgetRefusal();
    remember(pane.id);
    this.#last.set(this.tab.value?.key ?? '', pane.id);
  }

  /**
   * Tells the host where a person has turned to, so that a float comes to the front and
   * whoever opens the window begins there. Pages do not follow each other: each keeps what
   * it has active. Who may not write there is not heard, which is no matter.
   */
  #tellFocus(pane: Pane): void {
    if (this.guest || this.active.value === pane || !this.arranges.value) return;
    this.#session?.ctl.call('pane.focus', { pane: pane.id }).catch(() => {});
  }

  /** Shows a window, with the pane that was active in it. */
  showTab(tab: Tab): void {
    const id = [this.#last.get(tab.key), tab.window?.active, tab.panes[0]].find(
      (one) => one && tab.panes.includes(one) && this.find(one),
    );
    const pane = this.find(id ?? '');
    if (pane) void this.show(pane);
  }

  /** What is seen: the window of the active pane, or that pane alone. */
  #draw(): Frame {
    const active = this.active.value;
    const window = this.tab.value?.window;
    const none = { tiles: [], floats: [], separators: [], active };
    if (!active) return none;
    const alone = { ...none, tiles: [{ pane: active, rect: whole }] };
    if (!window || this.narrow.value) return alone;
    const held = this.#held.value;
    const { tiles, separators } = layoutOf(
      window,
      held?.window === window.window ? held : undefined,
    );
    const floats = window.floats.flatMap((float) => {
      const pane = this.find(float.pane);
      if (!pane) return [];
      const box = floatBox(float, this.#area.value, pane.grain.value);
      const carried = this.#carried.value;
      if (carried?.pane !== pane) return [{ pane, float, box }];
      return [{ pane, float, box: movedBy(box, carried, this.#area.value) }];
    });
    const floating = floats.some(({ pane }) => pane === active);
    if (!tiles.has(active.id) && !floating) return alone;
    const zoomed = floating ? this.find(window.zoomed) : active;
    if (window.zoomed && zoomed) {
      return { ...none, tiles: [{ pane: zoomed, rect: whole }], floats };
    }
    const seen = [...tiles].flatMap(([id, rect]) => {
      const pane = this.find(id);
      return pane ? [{ pane, rect }] : [];
    });
    // How the terminals are placed is for those who live here.
    return { tiles: seen, floats, separators: this.guest ? [] : separators, active };
  }

  #present(frame: Frame): void {
    const seen = new Set([...frame.tiles, ...frame.floats].map(({ pane }) => pane));
    for (const pane of this.panes.peek()) {
      if (seen.has(pane)) continue;
      pane.reveal.close();
      pane.screen.hide();
      pane.cell.hidden = true;
    }
    this.stage.place(frame);
    for (const pane of seen) {
      const wasHidden = pane.cell.hidden;
      pane.cell.hidden = false;
      if (wasHidden) void this.#reveal(pane);
      else pane.layout();
    }
  }

  /** Gives a pane that is seen its renderer and its viewer. */
  async #reveal(pane: Pane): Promise<void> {
    await pane.screen.show();
    if (pane.cell.hidden) return pane.screen.hide();
    pane.layout();
    if (this.#session) void this.#attach(pane, this.#session);
  }

  #fit(): void {
    for (const pane of this.panes.peek()) pane.layout();
  }

  /** Leaves a carried float where it is. */
  async #putDown(): Promise<void> {
    const carried = this.#carried.value;
    const at = this.#frame.value.floats.find(({ pane }) => pane === carried?.pane);
    if (!at) {
      this.#carried.value = null;
      return;
    }
    const { pane, z: _, ...float } = at.float;
    const offset = offsetAt(at.float, at.box, this.#area.value, at.pane.grain.value);
    await this.orders.place(pane, { ...float, ...offset });
    this.#carried.value = null;
  }

  async #setRatio(separator: Separator, ratio: number): Promise<void> {
    this.#held.value = { window: this.tab.value?.key ?? '', node: separator.node, ratio };
    await this.orders.setRatio(separator, ratio);
    this.#held.value = null;
  }

  /** One window as a verb has left it. */
  #learn(window: Window): void {
    this.windows.value = this.windows.value.map((known) =>
      known.window === window.window && known.revision <= window.revision ? window : known,
    );
  }

  /** Asks how everything is arranged; what happens meanwhile makes it ask once more. */
  async #ask(): Promise<void> {
    if (this.#asking !== 'no') {
      this.#asking = 'again';
      return;
    }
    const session = this.#session;
    if (!session) return;
    this.#asking = 'once';
    try {
      const [windows, sessions] = await Promise.all([
        session.ctl.call('window.list', {}),
        session.ctl.call('session.list', {}),
      ]);
      if (session !== this.#session) return;
      this.arranges.value = true;
      this.sessions.value = sessions.sessions;
      this.windows.value = windows.windows;
      this.#sort();
    } catch (error) {
      // An older host: each pane has a tab of its own.
      if (failedWith(error, 'unsupported.verb')) this.arranges.value = false;
    } finally {
      const again = (this.#asking as string) === 'again';
      this.#asking = 'no';
      if (again) void this.#ask();
    }
  }

  step(by: number): void {
    const panes = this.panes.value;
    const at = panes.indexOf(this.active.value as Pane);
    const next = panes[(at + by + panes.length) % panes.length];
    if (next) void this.show(next);
  }

  /** Shows a pane that a verb has made. The host tells of it about when it answers. */
  async #showWhenKnown(id: string): Promise<void> {
    const pane = this.find(id);
    this.#wanted = pane ? '' : id;
    if (pane) await this.#show(pane);
  }

  /** What a pane is called. */
  label({ info: { value: info } }: Pane): string {
    return labelOf(info, this.windows.value, this.sessions.value);
  }

  find(id: string): Pane | undefined {
    return this.panes.value.find((pane) => pane.id === id);
  }

  #linkChanged(state: LinkState): void {
    const session = state.phase === 'up' ? state.session : null;
    this.link.value = state;
    if (state.phase === 'halted' && closesOut.has(state.failure)) this.#closeOut();
    if (session === this.#session) return;
    this.#session = session;
    if (session) this.#greeted(session.hello);
    else this.#sessionLost();
  }

  #greeted({ server, principal, visit }: Hello): void {
    this.hostName.value = server.host_name;
    this.principal.value = principal;
    this.visit.value = visit;
  }

  /** Nothing of the terminals stays where nobody may see them any more. */
  #closeOut(): void {
    dialog.value = null;
    this.active.value = null;
    for (const pane of this.panes.value) pane.dispose();
    this.panes.value = [];
    this.windows.value = [];
    this.sessions.value = [];
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

  /** A terminal that had ended runs: restarted, or found alive. What it showed is nobody's any more. */
  #reseed(pane: Pane): void {
    pane.away();
    if (this.#session && !pane.cell.hidden) void this.#attach(pane, this.#session);
  }

  /** A lost one has no worker to attach to. */
  async #attach(pane: Pane, session: Session): Promise<void> {
    const { state, archive } = pane.info.value;
    if (pane.attached || (state === 'lost' && !archive)) return;
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
      case 'arranged':
        return void this.#ask();
      default: {
        const pane = this.find(event.pane);
        pane?.event(event);
        if (pane && pane === this.active.value && !document.hidden) pane.attention.value = false;
      }
    }
  }

  #upsert(info: PaneInfo): Pane {
    const known = this.find(info.id);
    if (known) {
      const moved = known.info.value.window !== info.window;
      const back = known.info.value.state !== 'running' && info.state === 'running';
      known.info.value = info;
      this.#sort();
      if (moved) void this.#ask();
      if (back) this.#reseed(known);
      return known;
    }
    const pane: Pane = this.#build(info);
    this.panes.value = [...this.panes.value, pane];
    this.#sort();
    if (this.known.value) void this.#ask();
    if (pane.id === this.#wanted) void this.#showWhenKnown(pane.id);
    else if (this.known.value && !this.active.value) void this.#show(pane);
    return pane;
  }

  #build(info: PaneInfo): Pane {
    let built: Pane | null = null;
    const screen = Pane.newScreen(() => built);
    screen.element.hidden = true;
    const pane = new Pane(info, screen, this.guest ? { types: () => this.types.value } : null);
    built = pane;
    pane.cell.hidden = true;
    pane.cell.addEventListener('focusin', () => {
      this.#tellFocus(pane);
      this.#activate(pane);
    });
    makeGrip(pane.cell.firstElementChild as HTMLElement, {
      take: () => {
        void this.show(pane);
        return !this.guest && pane.cell.classList.contains('float');
      },
      carry: (x, y) => {
        this.#carried.value = { pane, x, y };
      },
      drop: () => void this.#putDown(),
    });
    this.#mark(pane);
    return pane;
  }

  /** What a cell says by itself, where the bars speak of the active pane alone. */
  #mark(pane: Pane): void {
    const head = pane.cell.firstElementChild as HTMLElement;
    pane.onDispose = effect(() => {
      const info = pane.info.value;
      const dead = info.state !== 'running' && !info.archive;
      pane.cell.classList.toggle('faded', dead || !this.connected.value);
      pane.cell.classList.toggle('record', info.archive !== null);
      const label = this.label(pane);
      head.textContent = info.archive ? recordText(info, label) : label;
    });
  }

  /** As the windows are in order, then as a window's panes are. */
  #sort(): void {
    const ranks = new Map(this.windows.value.map((window, rank) => [window.window, rank]));
    const within = new Map(
      this.windows.value.flatMap((window) =>
        panesOf(window).map((id, rank) => [id, rank] as const),
      ),
    );
    const order = ({ id, info: { value: info } }: Pane) =>
      [
        ranks.get(info.window) ?? ranks.size + windowNumber(info.window),
        within.get(id) ?? info.index,
      ] as const;
    this.panes.value = [...this.panes.value].sort((a, b) => {
      const [windowA, indexA] = order(a);
      const [windowB, indexB] = order(b);
      return windowA - windowB || indexA - indexB;
    });
  }

  #remove(id: string): void {
    const pane = this.find(id);
    if (!pane) return;
    const at = this.panes.value.indexOf(pane);
    const wasActive = this.active.value === pane;
    const beside = wasActive ? this.tab.value?.panes.find((other) => other !== id) : undefined;
    this.panes.value = this.panes.value.filter((other) => other !== pane);
    if (wasActive) this.active.value = null;
    pane.dispose();
    void this.#ask();
    const next =
      this.find(beside ?? '') ?? this.panes.value[Math.min(at, this.panes.value.length - 1)];
    if (wasActive && next) void this.#show(next);
  }

  /** The host has told all it has: what it did not tell is gone. */
  #ready(): void {
    for (const pane of this.panes.value) {
      if (!this.#seen.has(pane.id)) this.#remove(pane.id);
    }
    const first = !this.known.value;
    this.known.value = true;
    const asked = this.#ask();
    if (this.#session) void this.#attachAll(this.#session);
    if (this.active.value) return;
    const pane = this.find(recall());
    if (pane) void this.#show(pane);
    else if (this.panes.value.length > 0) void asked.then(() => this.#enter());
    else if (first && !this.guest) void this.#begin();
  }

  /** A browser that was never here begins with what is active in the first window. */
  #enter(): void {
    if (this.active.value) return;
    const id = this.tabs.value[0]?.window?.active ?? '';
    const pane = this.find(id) ?? this.panes.value[0];
    if (pane) void this.#show(pane);
  }

  /** Nothing is there: a first terminal, unless a person may want back what was here before. */
  async #begin(): Promise<void> {
    await this.recovery.load();
    if (!this.recovery.checkpoints.value?.length && this.panes.value.length === 0) {
      await this.orders.create();
    }
  }

  #look(size: number, reader: boolean): void {
    const current = scheme();
    for (const pane of this.panes.peek()) {
      pane.reveal.close();
      pane.screen.setLook(size, current, reader);
      pane.pushTheme();
    }
    this.#fit();
  }
}

const whole: Rect = { x: 0, y: 0, w: 1, h: 1 };

function windowNumber(id: string): number {
  return Number(/\d+/.exec(id)?.[0] ?? 0);
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
