// SPDX-License-Identifier: Apache-2.0

import { Fragment } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { type Desk, paneLabel } from './desk';
import { Icon } from './icons';
import { Menu } from './menu';
import type { Pane } from './pane';
import { dialog } from './ui';

export function TabBar({ desk }: { desk: Desk }) {
  return (
    <header class="bar">
      <div class="tabs" role="tablist" aria-label="Terminals">
        {desk.panes.value.map((pane, i, all) => {
          const { session, session_name } = pane.info.value;
          const first = session !== all[i - 1]?.info.value.session;
          const alone = all[0]?.info.value.session === all.at(-1)?.info.value.session;
          return (
            <Fragment key={pane.id}>
              {/* For the eye only: a list of tabs may hold nothing but tabs. Their titles say it too. */}
              {first && !alone && (
                <span class="session" aria-hidden="true">
                  {session_name}
                </span>
              )}
              <Tab pane={pane} desk={desk} session={alone ? null : session_name} />
            </Fragment>
          );
        })}
      </div>
      <button
        type="button"
        class="tool"
        hidden={desk.halted !== null}
        aria-label="New terminal"
        title="New terminal (Ctrl+Shift+Enter)"
        onClick={() => void desk.create()}
      >
        <Icon name="plus" />
      </button>
      <span class="grow" />
      <Menu desk={desk} />
    </header>
  );
}

function Tab({ pane, desk, session }: { pane: Pane; desk: Desk; session: string | null }) {
  const info = pane.info.value;
  const selected = desk.active.value === pane;
  const label = paneLabel(info);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (selected) element.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [selected]);
  const rename = () => {
    dialog.value = { kind: 'rename', pane: pane.id };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'F2') rename();
    else if (event.key === 'ArrowRight') moveFocus(event, 1);
    else if (event.key === 'ArrowLeft') moveFocus(event, -1);
    else if (event.key === 'Delete') desk.requestClose(pane);
    else return;
    event.preventDefault();
  };
  return (
    <div class={`tab ${selected ? 'on' : ''} ${info.state}`} ref={element}>
      <button
        type="button"
        role="tab"
        aria-selected={selected}
        aria-controls="stage"
        aria-keyshortcuts="Delete F2"
        tabIndex={selected ? 0 : -1}
        title={session === null ? label : `${label} · ${session}`}
        onClick={() => void desk.show(pane)}
        onDblClick={rename}
        onKeyDown={onKeyDown}
      >
        <Mark pane={pane} />
        <span class="name">{label}</span>
      </button>
      {/* For a pointer only: a list of tabs may hold nothing but tabs. Delete and the menu close too. */}
      <button
        type="button"
        class="shut"
        aria-hidden="true"
        title={`Close ${label}`}
        tabIndex={-1}
        onClick={() => desk.requestClose(pane)}
      >
        <Icon name="close" />
      </button>
    </div>
  );
}

/** What a glance at a tab must tell: it rang, it ended, somebody else drives. */
function Mark({ pane }: { pane: Pane }) {
  const info = pane.info.value;
  if (info.state === 'lost') return <b class="mark bad" title="Ended, status unknown" />;
  if (info.state === 'exited') {
    const good = info.exit_code === 0;
    return (
      <b class={`mark ${good ? 'done' : 'bad'}`} title={good ? 'Ended' : 'Ended with an error'} />
    );
  }
  if (pane.attention.value) return <b class="mark bell" title="Rang the bell" />;
  return null;
}

function moveFocus(event: KeyboardEvent, by: number): void {
  const tab = event.currentTarget as HTMLElement;
  const all = [
    ...(tab.closest('[role=tablist]')?.querySelectorAll<HTMLElement>('[role=tab]') ?? []),
  ];
  all[(all.indexOf(tab) + by + all.length) % all.length]?.focus();
}
