// SPDX-License-Identifier: Apache-2.0

// A pretended host inside the page: panes with a line editor for a shell. It
// speaks spawn.ctl and pane channels as the real one does, without a network.

import { SerializeAddon } from '@xterm/addon-serialize';
import { Terminal } from '@xterm/xterm';
import { Ctl } from '../src/link/ctl';
import type { LinkError } from '../src/link/errors';
import type { Session } from '../src/link/peer';
import type { PtyPipe } from '../src/link/pipe';
import { toB64 } from '../src/wire/b64';
import type { CtlEvent, PaneInfo, Visit } from '../src/wire/ctl';
import { FakeRecords } from './records';
import { FakeWindows } from './windows';

const utf8 = new TextEncoder();
const prompt = '\x1b[1;32mada@ember\x1b[0m:\x1b[1;34m~/src/spawn\x1b[0m$ ';
const pieceMax = 8 << 10;

class FakePipe implements PtyPipe {
  onBytes: (bytes: Uint8Array) => void = () => {};
  onClose: () => void = () => {};
  sent = 0;
  constructor(private readonly pane: FakePane) {}
  send(bytes: Uint8Array): boolean {
    this.pane.input(new TextDecoder().decode(bytes));
    return true;
  }
  close(): void {
    this.pane.pipe = null;
  }
}

export class FakePane {
  pipe: FakePipe | null = null;
  history = '';
  committed = 0;
  line = '';
  readonly term: Terminal;
  readonly serialize = new SerializeAddon();

  constructor(
    readonly host: FakeHost,
    readonly info: PaneInfo,
  ) {
    this.term = new Terminal({
      cols: info.cols,
      rows: info.rows,
      scrollback: 20_000,
      allowProposedApi: true,
    });
    this.term.loadAddon(this.serialize);
    if (!info.archive) void this.output(prompt);
  }

  /** What the program prints: live bytes, then the committed lines. */
  async output(text: string): Promise<void> {
    await new Promise<void>((resolve) => this.term.write(text, resolve));
    const bytes = utf8.encode(text);
    if (this.pipe) {
      this.pipe.sent += bytes.length;
      this.pipe.onBytes(bytes);
    }
    this.commit();
  }

  commit(): void {
    const buffer = this.term.buffer.normal;
    let text = '';
    for (; this.committed < buffer.baseY; this.committed++) {
      text += `${buffer.getLine(this.committed)?.translateToString(true)}\r\n`;
    }
    if (!text) return;
    const offset = this.history.length;
    this.history += text;
    const data = toB64(utf8.encode(text));
    this.host.emit({ event: 'history_delta', pane: this.info.id, epoch: '1', offset, data });
  }

  snapshot(full: boolean): void {
    const { cols, rows } = this.term;
    const mark = `\x1b[8;${rows};${cols}t`;
    const head = `${mark}\x1b_sp:h1\x1b\\\x1b(B\x1b)B\x1b*B\x1b+B\x0f${this.history}`;
    const cursor = this.info.archive ? '\x1b[?25l' : '';
    const stream = utf8.encode(
      `${full ? head : ''}${mark}${this.serialize.serialize({ scrollback: 0 })}${cursor}`,
    );
    for (let at = 0, seq = 0; at < stream.length; at += pieceMax, seq++) {
      const data = toB64(stream.subarray(at, at + pieceMax));
      const last = at + pieceMax >= stream.length;
      const meta = {
        cols,
        rows,
        full,
        unavailable: false,
        watermark: '0',
        dc_offset: this.pipe?.sent ?? 0,
        epoch: '1',
        offset: this.history.length,
      };
      this.host.emit({
        event: 'snapshot',
        pane: this.info.id,
        seq,
        data,
        last,
        ...(seq === 0 ? meta : {}),
      } as CtlEvent);
    }
  }

  input(text: string): void {
    for (const c of text) {
      if (c === '\r') void this.run(this.line.trim());
      else if (c === '\x7f') {
        if (this.line) void this.output('\b \b');
        this.line = this.line.slice(0, -1);
      } else if (c >= ' ') {
        this.line += c;
        void this.output(c);
      }
    }
  }

  async run(line: string): Promise<void> {
    this.line = '';
    const [command, ...args] = line.split(' ');
    let out = '\r\n';
    if (command === 'seq') {
      for (let i = Number(args[0]); i <= Number(args[1]); i++) out += `${i}\r\n`;
    } else if (command === 'colours') out += colourDemo();
    else if (command === 'exit') {
      await this.output('\r\nlogout\r\n');
      return this.host.end(this, Number(args[0] ?? 0));
    } else if (command === 'die') return this.host.lose(this);
    else if (command === 'raw') out += JSON.parse(args.join(' '));
    else if (command) out += `${command}: command not found\r\n`;
    await this.output(out + prompt);
  }
}

/** The code of an error that the host answers with. */
class Refused extends Error {}

export class FakeHost {
  panes: FakePane[] = [];
  /** null: this host knows nothing of checkpoints. */
  records: FakeRecords | null = null;
  /** null: refuse to connect so; else the failure. */
  failure: LinkError | null = null;
  session: Session | null = null;
  /** By which the page is there; null for a paired browser. */
  visit: Visit | null = null;
  #next = 0;
  #listener: (event: CtlEvent) => void = () => {};

  /** null: this host knows nothing of windows. */
  windows: FakeWindows | null = null;

  constructor(kind: 'terminals' | 'records' | 'windows' = 'terminals') {
    if (kind === 'records') this.records = new FakeRecords();
    else {
      if (kind === 'windows') this.windows = new FakeWindows();
      this.make(80, 24, 'build');
      this.make(80, 24, '');
    }
  }

  make(cols: number, rows: number, name: string, more: Partial<PaneInfo> = {}): FakePane {
    const index = this.#next++;
    const pane = new FakePane(this, {
      id: `p${index}`,
      name,
      title: 'ada@ember: ~/src/spawn',
      state: 'running',
      cols,
      rows,
      exit_code: null,
      signal: '',
      argv0: 'bash',
      foreground: 'bash',
      window: `w${index}`,
      index: 0,
      archive: null,
      ...more,
    });
    this.panes.push(pane);
    if (!more.window) this.windows?.add(pane.info.window, pane.info.id);
    return pane;
  }

  emit(event: CtlEvent): void {
    this.#listener(structuredClone(event));
  }

  tell(pane: FakePane): void {
    this.emit({ event: 'pane', pane: pane.info });
  }

  end(pane: FakePane, code: number): void {
    Object.assign(pane.info, { state: 'exited', exit_code: code });
    this.emit({ event: 'exit', pane: pane.info.id, exit_code: code, signal: '' });
  }

  lose(pane: FakePane): void {
    Object.assign(pane.info, { state: 'lost', exit_code: null });
    this.emit({ event: 'lost', pane: pane.info.id });
  }

  control(
    pane: FakePane,
    you: boolean,
    name: string,
    request: { viewer: string; name: string } | null = null,
  ): void {
    this.emit({
      event: 'control',
      pane: pane.info.id,
      you,
      controller: you ? '1' : name ? '2' : '',
      controller_name: name,
      request,
    });
  }

  drop(): void {
    const session = this.session;
    this.session = null;
    session?.onLost();
  }

  async connect(onEvent: (event: CtlEvent) => void, onRtt: (ms: number) => void): Promise<Session> {
    await Promise.resolve();
    if (this.failure) throw this.failure;
    this.#listener = onEvent;
    const ctl: Ctl = new Ctl((text) => {
      const { id, verb, params } = JSON.parse(text);
      setTimeout(() => ctl.receive(JSON.stringify({ id, ...this.#reply(verb, params) })));
    }, onEvent);
    const session: Session = {
      hello: {
        server: { version: 'fake', host_name: 'ember', source: 's1' },
        viewer_name: 'This window',
        principal: this.visit ? 'share:l_0000000000000000' : 'device:d_0000000000000000',
        visit: this.visit,
      },
      ctl,
      onLost: () => {},
      openPty: async (id) => {
        const pane = this.#find(id);
        pane.pipe = new FakePipe(pane);
        return pane.pipe;
      },
      doubt: () => {},
      close: () => {},
    };
    this.session = session;
    setTimeout(() => {
      for (const pane of this.panes) this.tell(pane);
      this.emit({ event: 'panes_ready' });
      onRtt(0.8);
    });
    return session;
  }

  /** As restore would make them: one interrupted with text, one ended, one whose text has expired. */
  #restore(checkpoint: string): unknown {
    if (this.panes.length > 0) throw new Refused('conflict.not_empty');
    const archive = {
      checkpoint,
      previous_pane: 'p0',
      process_state: 'interrupted',
      text_state: 'plain',
      cut_rows: 2,
    };
    const build = this.make(80, 24, 'build', { state: 'lost', argv0: '', foreground: '', archive });
    build.term.write('$ make -j2 test\r\nok  spawn/internal/strictjson 0.4s\r\n');
    this.make(80, 24, '', {
      state: 'exited',
      exit_code: 3,
      argv0: '',
      foreground: '',
      archive: { ...archive, previous_pane: 'p4', process_state: 'exited', cut_rows: 0 },
    });
    this.make(80, 24, 'old', {
      state: 'lost',
      argv0: '',
      foreground: '',
      archive: { ...archive, previous_pane: 'p7', text_state: 'expired' },
    });
    for (const pane of this.panes) this.tell(pane);
    return { checkpoint, sessions: [], windows: [], panes: [] };
  }

  #relaunch(pane: FakePane, argv: string[]): unknown {
    if (argv[0] === '/bin/false') throw new Refused('unavailable.spawn');
    const made = this.make(80, 24, pane.info.name, { window: pane.info.window });
    this.panes = this.panes.filter((p) => p !== pane);
    this.tell(made);
    this.emit({ event: 'pane_removed', pane: pane.info.id });
    const { id, window } = made.info;
    return { pane: id, window, session: 's0', principal: `pane:${id}`, pid: 7 };
  }

  /** What a verb of recovery answers; undefined for any other. */
  // biome-ignore lint/suspicious/noExplicitAny: a pretended host trusts its page.
  #recover(verb: string, params: any): unknown {
    if (!verb.startsWith('recovery.')) return undefined;
    if (!this.records) throw new Refused('unsupported.verb');
    switch (verb) {
      case 'recovery.list':
        return { checkpoints: this.records.list };
      case 'recovery.inspect':
        return this.records.inspect(params.checkpoint, params.topology);
      case 'recovery.restore':
        return this.#restore(params.checkpoint);
      case 'recovery.forget':
        this.records.forget(params.checkpoint);
        return {};
      default:
        throw new Refused('unsupported.verb');
    }
  }

  /** What a verb of windows answers; undefined for any other. */
  // biome-ignore lint/suspicious/noExplicitAny: a pretended host trusts its page.
  #place(verb: string, params: any): unknown {
    const { windows } = this;
    const mine = /^(session|window)\.|^pane\.(split|zoom|resize|focus)$/.test(verb);
    if (!mine) return undefined;
    if (!windows) throw new Refused('unsupported.verb');
    switch (verb) {
      case 'session.list':
        return { sessions: windows.sessions };
      case 'window.list':
        return { windows: windows.windows };
      case 'pane.split':
        return this.#split(windows, params);
      case 'window.rename':
        return { window: windows.rename(params.window, params.name) };
      case 'pane.focus':
        return { window: windows.focus(params.pane) };
      case 'pane.zoom':
        return { window: windows.zoom(params.pane, params.off ?? false) };
      case 'pane.resize':
        return { window: windows.resize(params.pane, params.axis, params.ratio) };
      default:
        throw new Refused('unsupported.verb');
    }
  }

  #split(windows: FakeWindows, params: { pane: string; axis: 'cols' | 'rows' }): unknown {
    const { window } = this.#find(params.pane).info;
    const made = this.make(80, 24, '', { window });
    windows.split(params.pane, params.axis, made.info.id);
    this.tell(made);
    this.emit({ event: 'arranged' });
    return { pane: made.info };
  }

  // biome-ignore lint/suspicious/noExplicitAny: a pretended host trusts its page.
  #reply(verb: string, params: any): object {
    try {
      const told = this.#recover(verb, params) ?? this.#place(verb, params);
      return { ok: told ?? this.#answer(verb, params) };
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { error: { code: error.message, message: 'refused', data: {} } };
    }
  }

  #find(id: string): FakePane {
    const pane = this.panes.find((p) => p.info.id === id);
    if (!pane) throw new Error(`no pane ${id}`);
    return pane;
  }

  // biome-ignore lint/suspicious/noExplicitAny: a pretended host trusts its page.
  #answer(verb: string, params: any): unknown {
    if (verb === 'pane.new') {
      const pane = this.make(params.cols, params.rows, '');
      this.tell(pane);
      return { pane: pane.info };
    }
    if (verb === 'pair.new') return { url: 'http://127.0.0.1:7070/#pair=AAAAAAAAAAAAAAAAAAAAAA' };
    if (!params.pane) return {};
    const pane = this.#find(params.pane);
    if (verb === 'pane.relaunch') return this.#relaunch(pane, params.argv);
    if (verb === 'view.attach' && pane.info.archive) {
      pane.snapshot(true);
      return { viewer: '1' };
    }
    if (verb === 'view.attach') {
      pane.term.resize(params.cols, params.rows);
      const reads = this.visit?.right === 'read'; // and so never controls
      this.control(pane, !reads, reads ? 'Firefox on Linux' : 'This window');
      pane.snapshot(true);
      return { viewer: '1' };
    }
    if (verb === 'view.snapshot') pane.snapshot(params.full);
    if (verb === 'view.resize') {
      pane.term.resize(params.cols, params.rows);
      pane.snapshot(false);
    }
    if (verb === 'pane.rename') {
      pane.info.name = params.name;
      this.tell(pane);
    }
    if (verb === 'pane.close') {
      this.panes = this.panes.filter((p) => p !== pane);
      this.windows?.remove(params.pane);
      this.emit({ event: 'pane_removed', pane: params.pane });
      this.emit({ event: 'arranged' });
    }
    if (verb === 'view.take') this.control(pane, true, 'This window');
    return {};
  }
}

function colourDemo(): string {
  let out = '';
  for (let i = 0; i < 8; i++) out += `\x1b[3${i}m colour ${i} \x1b[9${i}mbright\x1b[0m  `;
  out +=
    '\r\n\x1b[1mbold\x1b[0m \x1b[3mitalic\x1b[0m \x1b[4:3munder\x1b[0m \x1b[9mstruck\x1b[0m 測試 🙂 ┌──┐\r\n';
  for (let i = 0; i < 60; i++) out += `\x1b[48;2;${40 + i * 3};${160 - i};${140}m \x1b[0m`;
  return `${out}\r\n\x1b]8;;https://example.org/real\x1b\\a marked link\x1b]8;;\x1b\\ and https://example.com/written\r\n`;
}
