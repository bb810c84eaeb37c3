// SPDX-License-Identifier: Apache-2.0

// What is left when no live terminal is: checkpoints to restore, and archives,
// which are shown as records and never as terminals.

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Desk } from './desk';
import { Icon } from './icons';
import type { Pane } from './pane';
import { inOrder, leadText } from './leading';
import { Preview } from './preview';
import { type Checkpoint, insideText, recordText, shutdownText, statusText } from './recovery';
import { dialog } from './ui';
import { agoText, momentText } from './times';

/** How often the words for how long ago something was are made anew. */
const agoEveryMs = 30_000;

/** The list of checkpoints. It is asked for anew whenever it is shown. */
export function Checkpoints({ desk }: { desk: Desk }) {
  const { recovery } = desk;
  const connected = desk.connected.value;
  useEffect(() => {
    if (connected) void recovery.load();
  }, [recovery, connected]);
  const all = recovery.checkpoints.value;
  const others = recovery.others.value;
  const failure = recovery.failure.value;
  const full = desk.panes.value.length > 0;
  return (
    <div class="checkpoints">
      {failure && (
        <p class="fault" role="alert">
          {failure}
        </p>
      )}
      {all && all.length > 0 && full && (
        <p class="faint">They can be restored while there is no terminal.</p>
      )}
      {all?.length === 0 && <p class="faint">There are no checkpoints.</p>}
      {all === null && !failure && <p class="faint">This spawnd keeps no checkpoints.</p>}
      {all && all.length > 0 && (
        <ul>
          {inOrder(all).map((at) => (
            <Entry key={at.id} at={at} desk={desk} off={full || !connected}>
              {leadText(at, all)}
            </Entry>
          ))}
        </ul>
      )}
      {others > 0 && (
        <p class="faint">Not shown here: {others} more. All are in spawnd recovery list.</p>
      )}
    </div>
  );
}

/** How long ago it was, and when by the clock. */
function Moment({ then }: { then: number }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), agoEveryMs);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <b>{agoText(then, now)}</b>{' '}
      <time class="faint" dateTime={new Date(then).toISOString()}>
        {momentText(then)}
      </time>
    </>
  );
}

/** One checkpoint; what is within says why to take it, or not. */
function Entry(props: { at: Checkpoint; desk: Desk; off: boolean; children: ComponentChildren }) {
  const { at, desk, off, children } = props;
  const [sure, setSure] = useState(false);
  const busy = desk.recovery.busy.value;
  const name = at.generation > 0 ? `Checkpoint ${at.generation}` : 'A checkpoint';
  const restore = async () => {
    if (await desk.recovery.restore(at.id)) dialog.value = null;
  };
  return (
    <li class={`checkpoint ${at.status} ${at.leading ? 'leading' : ''}`}>
      <div class="what">
        <div>{at.capturedAt === null ? <b>{name}</b> : <Moment then={at.capturedAt} />}</div>
        {children && <div class="why">{children}</div>}
        <div class="status-text">
          {statusText(at)}
          {at.capturedAt !== null && <span class="faint"> · {name}</span>}
        </div>
        {at.inside && <div>{insideText(at.inside)}</div>}
        {at.inside && <div class="faint">{shutdownText(at)}</div>}
      </div>
      <div class="actions">
        {sure ? (
          <>
            <button type="button" onClick={() => setSure(false)}>
              Keep
            </button>
            <button
              type="button"
              class="danger"
              disabled={busy}
              onClick={() => void desk.recovery.forget(at.id)}
            >
              Delete {name.toLowerCase()}
            </button>
          </>
        ) : (
          <>
            <button type="button" aria-label={`Delete ${name}…`} onClick={() => setSure(true)}>
              Delete…
            </button>
            {at.status === 'valid' && (
              <button
                type="button"
                class={at.leading ? 'main' : ''}
                disabled={off || busy}
                aria-label={`Restore ${name}`}
                onClick={() => void restore()}
              >
                Restore
              </button>
            )}
          </>
        )}
      </div>
      {at.inside && <Preview at={at} desk={desk} />}
    </li>
  );
}

/** Stands above an archive's cells, so that no text in them can pass for it. */
export function RecordBar({ pane, desk }: { pane: Pane; desk: Desk }) {
  const info = pane.info.value;
  if (!info.archive) return null;
  return (
    <div class="strip record" role="status">
      <Icon name="record" />
      <span class="grow">{recordText(info, desk.label(pane))}</span>
      {!desk.guest && (
        <>
          <button
            type="button"
            class="main"
            disabled={!desk.connected.value}
            onClick={() => {
              dialog.value = { kind: 'relaunch', pane: pane.id };
            }}
          >
            Relaunch…
          </button>
          <button type="button" onClick={() => void desk.orders.close(pane)}>
            Close
          </button>
        </>
      )}
    </div>
  );
}
