// SPDX-License-Identifier: Apache-2.0

import { signal } from '@preact/signals';
import type { LinkState } from '../link/link';
import type { Desk } from './desk';

/** Short of this, a silent host is only slow. */
const unreachableAfterMs = 3000;

/** The clock of the status line; it runs only while it counts seconds. */
export const now = signal(Date.now());

export interface Status {
  tone: 'good' | 'wait' | 'bad';
  text: string;
}

/** What the status line says about the link. */
export function linkStatus(state: LinkState, known: boolean, at: number): Status {
  if (state.phase === 'up') return { tone: 'good', text: 'Connected' };
  if (state.phase === 'halted')
    return { tone: 'bad', text: haltText[state.failure] ?? 'Not connected' };
  const waited = Math.max(0, at - state.since);
  const seconds = Math.floor(waited / 1000);
  if (state.failure === 'share_full')
    return { tone: 'wait', text: `Too many visitors (${seconds} s)` };
  if (state.failure === 'unreachable' && waited >= unreachableAfterMs) {
    return { tone: 'bad', text: `Host not reachable (${seconds} s)` };
  }
  return { tone: 'wait', text: `${known ? 'Reconnecting' : 'Connecting'} (${seconds} s)` };
}

const haltText: Partial<Record<string, string>> = {
  unpaired: 'Not paired',
  unknown_device: 'Not paired',
  pair_invalid: 'Not paired',
  share_ended: 'Link ended',
  identity_changed: 'Identity changed',
  protocol: 'Another version',
  unsupported: 'Browser not supported',
};

export function StatusLine({ desk }: { desk: Desk }) {
  const status = linkStatus(desk.link.value, desk.known.value, now.value);
  const pane = desk.active.value;
  const rtt = desk.rtt.value;
  const size = pane?.size.value;
  return (
    <footer class="status">
      <span class={`dot ${status.tone}`} aria-hidden="true" />
      <span role="status" aria-live="polite">
        {/* Seconds are for the eye: a screen reader hears each change of state once. */}
        <span aria-hidden="true">{status.text}</span>
        <span class="sr">{status.text.replace(/ \(.*/, '')}</span>
      </span>
      {rtt !== null && <span class="faint">{rtt < 10 ? rtt.toFixed(1) : Math.round(rtt)} ms</span>}
      <span class="grow" />
      {pane?.info.value.state === 'running' && desk.connected.value && (
        <span class="faint">{controlText(pane.control.value)}</span>
      )}
      {size && size.cols > 0 && (
        <span class="faint wide">
          {size.cols}×{size.rows}
        </span>
      )}
      {desk.hostName.value && <span class="faint wide host">{desk.hostName.value}</span>}
    </footer>
  );
}

function controlText(control: { you: boolean; controller: string; name: string }): string {
  if (control.you) return 'You control';
  return control.controller ? 'Watching' : '';
}
