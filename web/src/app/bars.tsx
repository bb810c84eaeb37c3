// SPDX-License-Identifier: Apache-2.0

// What stands over a terminal: who controls it, that it ended, where the
// scrollback is, why a key was refused.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { PaneInfo } from '../wire/ctl';
import type { Desk } from './desk';
import { Icon } from './icons';
import type { Pane } from './pane';
import { hoveredLink, notices, refusals } from './ui';

/** After so long without an answer the host hands control over. */
const requestSeconds = 10;

export function Bars({ desk }: { desk: Desk }) {
  const pane = desk.active.value;
  return (
    <>
      <div class="bars">
        {pane && <RequestBar pane={pane} />}
        {pane && <EndBar pane={pane} desk={desk} />}
        {pane && <FailureBar pane={pane} />}
        <Refusal pane={pane} desk={desk} />
        <Notices />
      </div>
      {pane && <RevealBar pane={pane} />}
      {pane?.reveal.searching.value && <SearchBar pane={pane} />}
      <LinkTarget />
    </>
  );
}

function RequestBar({ pane }: { pane: Pane }) {
  const { you, request } = pane.control.value;
  if (!you || !request) return null;
  return (
    <div class="note ask" role="alertdialog" aria-label="Request for control">
      <span>
        <b>{request.name || 'Another window'}</b> asks for control.
        <span class="faint"> Without an answer it is given in {requestSeconds} s.</span>
      </span>
      <button type="button" class="main" onClick={() => void pane.answerRequest(true)}>
        Allow
      </button>
      <button type="button" onClick={() => void pane.answerRequest(false)}>
        Keep
      </button>
    </div>
  );
}

function isWatching(pane: Pane | null): boolean {
  if (pane?.info.value.state !== 'running' || pane.info.value.archive) return false;
  return !pane.control.value.you && pane.control.value.controller !== '';
}

/** Stands above the screen of a watcher, and hides none of it. */
export function WatchStrip({ pane }: { pane: Pane }) {
  if (!isWatching(pane)) return null;
  const { count, text } = refusals.value;
  // A key that was not sent shakes the strip that says why.
  return (
    <div class={`strip ${text ? 'refusal' : ''}`} key={count} role={text ? 'alert' : 'status'}>
      <Icon name="eye" />
      <span class="grow">
        Watching. <b>{pane.control.value.name || 'Another window'}</b> is in control
        {text ? ', so keys are not sent.' : '.'}
      </span>
      <button type="button" class="main" onClick={() => void pane.ask('view.request')}>
        Ask for control
      </button>
      <button type="button" onClick={() => void pane.ask('view.take')}>
        Take over
      </button>
    </div>
  );
}

function EndBar({ pane, desk }: { pane: Pane; desk: Desk }) {
  const info = pane.info.value;
  if (info.state === 'running' || info.archive) return null;
  return (
    <div class={`note end ${info.state}`} role="status">
      <span>{endText(info)}</span>
      {!desk.guest && (
        <>
          <button type="button" class="main" onClick={() => void desk.orders.create()}>
            New terminal
          </button>
          <button type="button" onClick={() => void desk.orders.close(pane)}>
            Close
          </button>
        </>
      )}
    </div>
  );
}

/** How a terminal ended, as far as anybody knows. */
export function endText(info: PaneInfo): string {
  if (info.state === 'lost') return 'Ended, status unknown. Its worker is gone.';
  if (info.signal) return `Ended by signal ${info.signal}.`;
  if (info.exit_code === null || info.exit_code === undefined) return 'Ended, status unknown.';
  return info.exit_code === 0 ? 'Ended.' : `Ended with exit code ${info.exit_code}.`;
}

function FailureBar({ pane }: { pane: Pane }) {
  const failure = pane.failure.value;
  if (!failure || pane.phase.value !== 'attaching' || pane.info.value.state !== 'running')
    return null;
  return (
    <div class="note" role="status">
      <span>Trying to attach: {failure}</span>
    </div>
  );
}

function Refusal({ pane, desk }: { pane: Pane | null; desk: Desk }) {
  const { count, text } = refusals.value;
  // Elsewhere it is said above the terminal, where it says the same all the time.
  if (!text || isWatching(pane) || !desk.types.value) return null;
  return (
    <div class="note refusal" role="alert" key={count}>
      <span>{text}</span>
    </div>
  );
}

function RevealBar({ pane }: { pane: Pane }) {
  const below = pane.reveal.below.value;
  if (below === null) return null;
  return (
    <div class="reveal" role="toolbar" aria-label="Scrollback">
      <span class="faint">Scrollback</span>
      <button type="button" aria-label="A page up" onClick={() => pane.reveal.page(-1)}>
        <Icon name="up" />
      </button>
      <button type="button" aria-label="A page down" onClick={() => pane.reveal.page(1)}>
        <Icon name="down" />
      </button>
      <button type="button" aria-label="Find" onClick={() => void pane.reveal.search()}>
        <Icon name="search" />
      </button>
      <button type="button" class="main" onClick={() => pane.reveal.close()}>
        {below > 0 ? `${below} to live` : 'Live'}
      </button>
    </div>
  );
}

function SearchBar({ pane }: { pane: Pane }) {
  const input = useRef<HTMLInputElement>(null);
  const [missing, setMissing] = useState(false);
  useEffect(() => input.current?.focus(), []);
  const find = async (backwards: boolean) => {
    setMissing(!(await pane.reveal.find(input.current?.value ?? '', backwards)));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') pane.reveal.endSearch();
    else if (event.key === 'Enter') void find(!event.shiftKey);
    else return;
    event.preventDefault();
  };
  return (
    <search class={`find ${missing ? 'missing' : ''}`}>
      <input
        ref={input}
        type="text"
        aria-label="Find in scrollback"
        placeholder="Find"
        spellcheck={false}
        onKeyDown={onKeyDown}
        onInput={() => setMissing(false)}
      />
      <span class="faint" role="status">
        {missing ? 'nothing' : ''}
      </span>
      <button type="button" aria-label="Earlier" onClick={() => void find(true)}>
        <Icon name="up" />
      </button>
      <button type="button" aria-label="Later" onClick={() => void find(false)}>
        <Icon name="down" />
      </button>
      <button type="button" aria-label="Close search" onClick={() => pane.reveal.endSearch()}>
        <Icon name="close" />
      </button>
    </search>
  );
}

function LinkTarget() {
  const link = hoveredLink.value;
  if (!link) return null;
  return (
    <div class="link-target">
      {link.refused ? 'Not opened (only http and https): ' : 'Ctrl+click opens '}
      <b>{link.target.slice(0, 300)}</b>
    </div>
  );
}

function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map((notice) => (
        <div class="notice" key={notice.id}>
          {notice.text}
        </div>
      ))}
    </div>
  );
}
