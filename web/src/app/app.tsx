// SPDX-License-Identifier: Apache-2.0

import { effect } from '@preact/signals';
import { render } from 'preact';
import type { Bytes } from '../wire/b64';
import { Bars, WatchStrip } from './bars';
import { type DebugTarget, expose } from './debug';
import { Desk, type DeskOptions } from './desk';
import { Dialogs } from './dialogs';
import { KeyRow } from './keys';
import { titleOf } from './label';
import { RecordBar } from './records';
import { applySettings } from './settings';
import { installShortcuts } from './shortcuts';
import { now, StatusLine } from './status';
import { Switcher, TabBar } from './tabs';
import { followViewport } from './viewport';
import { VisitStrip } from './visit';
import { Welcome } from './welcome';

export interface AppOptions {
  connect: DeskOptions['connect'];
  /** A pairing code that the person gave by hand. */
  onCode(code: Bytes): void;
  /** The page shows what a share link leads to. */
  guest?: boolean;
  /** The person is done with the visit. */
  onLeave?(): void;
}

/** Builds the page in `root` and begins to connect. */
export function startApp(root: HTMLElement, options: AppOptions): Desk {
  applySettings();
  followViewport();
  const desk = new Desk({
    connect: options.connect,
    guest: options.guest ?? false,
    leave: () => options.onLeave?.(),
  });
  const onCode = (code: Bytes) => {
    options.onCode(code);
    desk.start();
  };
  render(<App desk={desk} onCode={onCode} />, root);
  installShortcuts(desk);
  effect(() => showTitle(desk));
  effect(() => keepTime(desk));
  wakeOnReturn(desk);
  expose(window as DebugTarget, desk);
  desk.start();
  return desk;
}

function App(props: { desk: Desk; onCode(code: Bytes): void }) {
  const { desk } = props;
  const pane = desk.active.value;
  return (
    <div class="app">
      <TabBar desk={desk} />
      <Switcher desk={desk} />
      <main class="place">
        <VisitStrip desk={desk} />
        {pane && <RecordBar pane={pane} desk={desk} />}
        {pane && desk.types.value && <WatchStrip pane={pane} />}
        <div class="hold" ref={(hold) => hold?.prepend(desk.stage.element)}>
          <Bars desk={desk} />
          <Welcome desk={desk} onCode={props.onCode} />
        </div>
      </main>
      {desk.types.value && <KeyRow desk={desk} />}
      <StatusLine desk={desk} />
      <Dialogs desk={desk} />
    </div>
  );
}

function showTitle(desk: Desk): void {
  const pane = desk.active.value;
  const asks = desk.panes.value.some(({ attention }) => attention.value);
  document.title = titleOf(pane && desk.label(pane), asks);
}

/** The clock runs only while somebody waits. */
function keepTime(desk: Desk): (() => void) | undefined {
  if (desk.connected.value || desk.halted) return undefined;
  now.value = Date.now();
  const timer = setInterval(() => {
    now.value = Date.now();
  }, 1000);
  return () => clearInterval(timer);
}

/** Whatever suggests that the network or the person is back is worth a try at once. */
function wakeOnReturn(desk: Desk): void {
  const wake = () => desk.wake();
  addEventListener('online', wake);
  addEventListener('focus', wake);
  addEventListener('pageshow', wake);
  addEventListener('pagehide', () => desk.leave());
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) desk.returned();
  });
}
