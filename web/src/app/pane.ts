// SPDX-License-Identifier: Apache-2.0

// One pane as the page has it: its screen, its history, who controls it, and
// its place on the current session. It outlives connections.

import { signal } from '@preact/signals';
import { CtlFailure } from '../link/ctl';
import type { Session } from '../link/peer';
import type { PtyPipe } from '../link/pipe';
import { Feed } from '../term/feed';
import { History } from '../term/history';
import { isMultiLine, pasteBytes, sanitisePaste } from '../term/paste';
import { plainText } from '../term/plain';
import { type InputKind, LiveScreen, type Size } from '../term/screen';
import { colours } from '../term/theme';
import { fromB64 } from '../wire/b64';
import type { ControlEvent, CtlEvent, PaneInfo } from '../wire/ctl';
import { Reveal } from './reveal';
import { fontSize, scheme, screenReader } from './settings';
import { dialog, forgetRefusal, hoveredLink, refuse, say, stickyCtrl } from './ui';

/** A window that is being dragged sends its size only when it has rested this long. */
const resizeRestMs = 100;

/** A failed attach or snapshot is tried again after this, while the session lives. */
const retryMs = 500;

/** A screen that waits longer than this for its snapshot asks again. */
const staleMs = 5000;

/** A cell is measured over a row: by so many pixels it may seem another one in a row of another length. */
const grainTolerance = 0.25;

/** Largest paste, in UTF-16 units. */
const pasteMax = 1 << 20;

/** away: no session. attaching: waiting for the first snapshot. live: exact. */
export type PanePhase = 'away' | 'attaching' | 'live';

export interface Control {
  you: boolean;
  /** Nobody when empty. */
  controller: string;
  name: string;
  request: { viewer: string; name: string } | null;
}

/** What a visitor may do with a pane beside looking at it. Its size and its colours are not theirs. */
export interface Guest {
  types(): boolean;
}

const nobody: Control = { you: false, controller: '', name: '', request: null };

export class Pane {
  readonly info;
  readonly phase = signal<PanePhase>('away');
  readonly control = signal<Control>(nobody);
  readonly size = signal<Size>({ cols: 0, rows: 0 });
  readonly attention = signal(false);
  /** A cell of the person's own text size in CSS pixels; a guess until the screen was shown. */
  readonly grain = signal({ width: 8, height: 17 });
  readonly failure = signal('');
  readonly history = new History(() => this.#feed.heal());
  readonly screen: LiveScreen;
  /** Holds the screen, and above it what is said of the pane where there are several. */
  readonly cell = document.createElement('div');
  readonly reveal: Reveal;

  #feed: Feed;
  #session: Session | null = null;
  #pipe: PtyPipe | null = null;
  #generation = 0;
  #asked: Size | null = null;
  #resizeTimer: ReturnType<typeof setTimeout> | undefined;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #staleTimer: ReturnType<typeof setTimeout> | undefined;
  #clipboardSaid = false;

  constructor(
    info: PaneInfo,
    screen: LiveScreen,
    private readonly guest: Guest | null = null,
  ) {
    this.info = signal(info);
    this.screen = screen;
    const head = document.createElement('div');
    head.className = 'head';
    this.cell.className = 'cell';
    this.cell.append(head, screen.element);
    this.reveal = new Reveal(this);
    for (const gesture of ['pointerdown', 'focusin']) {
      screen.element.addEventListener(gesture, () => this.#takeWhatIsFree());
    }
    this.#feed = new Feed(
      {
        paint: (cols, rows, bytes) => this.#paint(cols, rows, bytes),
        write: (bytes, done) => this.screen.write(bytes, done),
        requestSnapshot: (full) => this.#requestSnapshot(full),
      },
      this.history,
    );
  }

  get id(): string {
    return this.info.value.id;
  }

  /** A screen with the current look, whose input goes to whatever pane `of` names. */
  static newScreen(of: () => Pane | null): LiveScreen {
    return new LiveScreen({
      fontSize: fontSize.peek(),
      scheme: scheme(),
      screenReader: screenReader.peek(),
      onInput: (bytes, kind) => of()?.input(bytes, kind),
      onPaste: (text) => of()?.paste(text),
      onClipboard: () => of()?.clipboardRefused(),
      links: {
        show: (target, refused) => {
          hoveredLink.value = { target, refused };
        },
        hide: () => {
          hoveredLink.value = null;
        },
      },
    });
  }

  /** Called when the pane is gone from the page. */
  onDispose: () => void = () => {};

  /** Attached, or on the way to be, on a session. */
  get attached(): boolean {
    return this.#session !== null;
  }

  /** Attaches on this session and seeds everything anew. Retries until it holds or the session ends. */
  async attach(session: Session, size: Size): Promise<void> {
    const generation = this.#leave();
    this.#session = session;
    this.#asked = size;
    this.phase.value = 'attaching';
    try {
      const pipe = await session.openPty(this.id);
      if (generation !== this.#generation) return pipe.close();
      this.#take(pipe);
      await session.ctl.request('view.attach', { pane: this.id, ...size, history: true });
      this.failure.value = '';
      this.pushTheme();
    } catch (error) {
      if (generation === this.#generation) this.#attachFailed(session, size, error);
    }
  }

  /** The session ended. The last screen stays. */
  away(): void {
    this.#leave();
    this.#session = null;
    this.phase.value = 'away';
    this.control.value = nobody;
  }

  dispose(): void {
    this.away();
    this.reveal.close();
    this.screen.dispose();
    this.cell.remove();
    this.onDispose();
  }

  /** An event that names this pane. */
  event(event: CtlEvent): void {
    switch (event.event) {
      case 'snapshot':
        return this.#feed.snapshot(event, fromB64(event.data));
      case 'history_delta':
        return this.history.delta(BigInt(event.epoch), event.offset, fromB64(event.data));
      case 'history_wipe':
        return this.history.wipe(BigInt(event.epoch));
      case 'history_gap':
        return this.#feed.gap();
      case 'control':
        return this.#controlChanged(event);
      case 'bell':
        this.attention.value = true;
        return;
      case 'exit':
        this.#change({
          state: 'exited',
          exit_code: event.exit_code ?? null,
          signal: event.signal ?? '',
        });
        return;
      case 'lost':
        return this.#change({ state: 'lost', exit_code: null, signal: '' });
      case 'dropped':
        return this.#attachAgain();
      default:
    }
  }

  /** Keys, mouse and focus reports of this screen. Refused keys are said, never queued. */
  input(bytes: Uint8Array, kind: InputKind): void {
    const reason = this.#refusal();
    if (reason) {
      if (kind === 'key') refuse(reason);
      return;
    }
    if (kind === 'key') this.reveal.close();
    const sent = this.#pipe?.send(kind === 'key' ? withStickyCtrl(bytes) : bytes);
    if (!sent && kind === 'key') refuse('Too much input is waiting. This was not sent.');
  }

  paste(raw: string): void {
    if (this.guest && !this.guest.types()) return refuse(this.#refusal());
    if (raw.length > pasteMax) return say('That is more than 1 MiB of text. It was not pasted.');
    const text = sanitisePaste(raw);
    if (!text) return;
    const bracketed = this.screen.term.modes.bracketedPasteMode;
    const send = () => this.input(pasteBytes(text, bracketed), 'key');
    if (!bracketed && isMultiLine(text)) dialog.value = { kind: 'paste', text, send };
    else send();
  }

  /** A key of the on-screen row. */
  press(sequence: string): void {
    this.input(new TextEncoder().encode(sequence), 'key');
  }

  clipboardRefused(): void {
    if (this.#clipboardSaid) return;
    this.#clipboardSaid = true;
    say('A program wanted to write to your clipboard. It was refused.');
  }

  /** Brings the screen's cells in line with the window: as controller by asking, as watcher by shrinking. */
  layout(): void {
    if (this.screen.element.hidden) return;
    this.#fit();
    this.#learnGrain();
  }

  #fit(): void {
    const { you, controller } = this.control.value;
    const size = you && !this.guest ? this.screen.fitSize() : null;
    if (size) this.#wantSize(size);
    else this.screen.shrinkToFit();
    const watching = this.guest !== null || (!you && controller !== '');
    this.screen.element.classList.toggle('watching', watching);
  }

  #learnGrain(): void {
    const { cell } = this.screen;
    const known = this.grain.peek();
    if (!cell) return;
    const off = Math.max(Math.abs(cell.width - known.width), Math.abs(cell.height - known.height));
    if (off > grainTolerance) this.grain.value = cell;
  }

  /** The size that this window would give the pane. */
  ownSize(): Size {
    return this.screen.fitSize() ?? this.#knownSize();
  }

  async ask(verb: 'view.request' | 'view.take' | 'view.release'): Promise<void> {
    await this.#call(() => this.#session?.ctl.request(verb, { pane: this.id }));
  }

  async answerRequest(grant: boolean): Promise<void> {
    const viewer = this.control.value.request?.viewer;
    if (viewer === undefined) return;
    const verb = grant ? 'view.grant' : 'view.deny';
    await this.#call(() => this.#session?.ctl.request(verb, { pane: this.id, viewer }));
  }

  /** Tells the worker our colours, for the programs that ask the terminal. */
  pushTheme(): void {
    if (this.guest) return;
    const c = colours[scheme()];
    const theme = {
      foreground: c.foreground,
      background: c.background,
      cursor: c.cursor,
      palette: [...c.palette],
    };
    // Only the controller's colours count; as a watcher this is refused, rightly.
    this.#session?.ctl.request('view.theme', { pane: this.id, ...theme }).catch(() => {});
  }

  historyText(): string {
    return plainText(this.history.text());
  }

  #refusal(): string {
    const { state, archive } = this.info.value;
    if (this.guest && !this.guest.types()) return 'This link lets you watch. Keys are not sent.';
    if (archive) return 'This is a record. Nothing runs in it that could take keys.';
    if (state !== 'running') return 'This terminal has ended.';
    if (this.phase.value !== 'live' || !this.#pipe) return 'Not connected. Keys are not sent.';
    const { you, controller, name } = this.control.value;
    if (!you && controller !== '')
      return `${name || 'Another window'} is in control. Keys are not sent.`;
    return '';
  }

  #paint(cols: number, rows: number, bytes: Uint8Array): void {
    clearTimeout(this.#staleTimer);
    // From the first snapshot on, what counts is the size the terminal really has.
    if (this.phase.value !== 'live') this.#asked = null;
    this.reveal.geometryChanged(cols, rows);
    this.screen.paint(cols, rows, bytes);
    this.size.value = { cols, rows };
    this.phase.value = 'live';
    this.layout();
  }

  #controlChanged(event: ControlEvent): void {
    const gained = event.you && !this.control.value.you;
    this.control.value = {
      you: event.you,
      controller: event.controller,
      name: event.controller_name,
      request: event.request ?? null,
    };
    if (event.you && event.request) this.attention.value = true;
    if (gained && this.phase.value === 'live') this.#asked = null;
    if (gained) forgetRefusal();
    if (gained) this.pushTheme();
    this.layout();
  }

  /** Nobody controls it, and a person turns to it here: it is theirs. */
  #takeWhatIsFree(): void {
    if (
      this.phase.value !== 'live' ||
      this.control.value.you ||
      this.control.value.controller !== '' ||
      this.guest?.types() === false
    )
      return;
    this.#session?.ctl.request('view.request', { pane: this.id }).catch(() => {});
  }

  #wantSize(size: Size): void {
    clearTimeout(this.#resizeTimer);
    const known = this.#asked ?? this.size.value;
    if (size.cols === known.cols && size.rows === known.rows) return;
    this.#resizeTimer = setTimeout(() => {
      this.#asked = size;
      this.#session?.ctl.request('view.resize', { pane: this.id, ...size }).catch(() => {
        this.#asked = null;
      });
    }, resizeRestMs);
  }

  #knownSize(): Size {
    const { cols, rows } = this.size.value;
    if (cols > 0) return { cols, rows };
    return { cols: this.info.value.cols || 80, rows: this.info.value.rows || 24 };
  }

  #take(pipe: PtyPipe): void {
    this.#pipe = pipe;
    this.#feed.restart();
    this.#watchStale();
    pipe.onBytes = (bytes) => this.#feed.live(bytes);
    pipe.onClose = () => {
      this.#pipe = null;
      if (this.info.value.state === 'running') this.#attachAgain();
    };
  }

  /** Ends the attachment; what is still on its way for it is ignored. */
  #leave(): number {
    clearTimeout(this.#resizeTimer);
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#staleTimer);
    this.#pipe?.close();
    this.#pipe = null;
    this.history.disconnect();
    return ++this.#generation;
  }

  #attachFailed(session: Session, size: Size, error: unknown): void {
    this.failure.value = error instanceof Error ? error.message : 'could not be attached';
    if (error instanceof CtlFailure && error.code === 'closed') return;
    if (this.info.value.state !== 'running' && !this.info.value.archive) return;
    this.#retryTimer = setTimeout(() => void this.attach(session, size), retryMs);
  }

  /** The host dropped this viewer, or its channel: a new channel, a new seed. */
  #attachAgain(): void {
    const session = this.#session;
    const generation = this.#leave();
    if (!session) return;
    this.phase.value = 'attaching';
    this.#retryTimer = setTimeout(() => {
      if (generation === this.#generation) void this.attach(session, this.#knownSize());
    }, retryMs);
  }

  #requestSnapshot(full: boolean): void {
    const generation = this.#generation;
    if (!full) this.#watchStale();
    this.#session?.ctl.request('view.snapshot', { pane: this.id, full }).catch(() => {
      if (generation !== this.#generation) return;
      this.#feed.requestFailed();
      clearTimeout(this.#retryTimer);
      this.#retryTimer = setTimeout(() => this.#requestSnapshot(full), retryMs);
    });
  }

  #watchStale(): void {
    clearTimeout(this.#staleTimer);
    this.#staleTimer = setTimeout(() => {
      if (this.#feed.stale && this.#session) this.#requestSnapshot(false);
    }, staleMs);
  }

  #change(change: Partial<PaneInfo>): void {
    this.info.value = { ...this.info.value, ...change };
  }

  /** For a button over the terminal: the keyboard goes back to the terminal. */
  async #call(work: () => Promise<unknown> | undefined): Promise<void> {
    this.screen.term.focus();
    try {
      await work();
    } catch (error) {
      say(error instanceof Error ? error.message : 'That did not work.');
    }
  }
}

/** With Ctrl of the on-screen row held, a letter or one of @[\]^_? becomes its control. */
function withStickyCtrl(bytes: Uint8Array): Uint8Array {
  if (!stickyCtrl.value || bytes.length !== 1) return bytes;
  stickyCtrl.value = false;
  const byte = bytes[0] as number;
  if (byte === 0x3f) return Uint8Array.of(0x7f);
  if (byte === 0x20) return Uint8Array.of(0);
  const upper = byte >= 0x61 && byte <= 0x7a ? byte - 0x20 : byte;
  return upper >= 0x40 && upper <= 0x5f ? Uint8Array.of(upper & 0x1f) : bytes;
}
