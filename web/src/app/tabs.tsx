// SPDX-License-Identifier: Apache-2.0

import { useEffect, useRef } from 'preact/hooks';
import { safeTitle } from '../term/title';
import type { Desk } from './desk';
import { Icon } from './icons';
import type { Tab as TabOf } from './layout';
import { Menu } from './menu';
import type { Pane } from './pane';
import { dialog } from './ui';

export function TabBar({ desk }: { desk: Desk }) {
  const tabs = desk.tabs.value;
  const grouped = new Set(tabs.map((tab) => tab.session)).size > 1;
  return (
    <header class="bar">
      <div class="tabs" role="tablist" aria-label="Terminals">
        {tabs.map((tab, place) => {
          const first = grouped && tab.session !== tabs[place - 1]?.session;
          const named = grouped ? safeTitle(tab.session) : '';
          return <TabItem key={tab.key} tab={tab} desk={desk} session={named} heading={first} />;
        })}
      </div>
      <button
        type="button"
        class="tool"
        hidden={desk.halted !== null || desk.guest}
        aria-label="New terminal"
        title="New terminal (Ctrl+Shift+Enter)"
        onClick={() => void desk.orders.create()}
      >
        <Icon name="plus" />
      </button>
      <span class="grow" />
      <Menu desk={desk} />
    </header>
  );
}

/** The session is told once for the eye, and with each tab to a screen reader. */
function TabItem(props: { tab: TabOf; desk: Desk; session: string; heading: boolean }) {
  const { tab, desk, session, heading } = props;
  const selected = desk.tab.value?.key === tab.key;
  const shown = selected
    ? desk.active.value
    : desk.find(tab.window?.active || (tab.panes[0] ?? ''));
  const pane = shown ?? desk.find(tab.panes[0] ?? '');
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (selected) element.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [selected]);
  if (!pane) return null;
  const info = pane.info.value;
  const label = safeTitle(tab.window?.name ?? '') || desk.label(pane);
  const more = tab.panes.length > 1 ? tab.panes.length : 0;
  const home = !desk.guest;
  const rename = () => {
    if (!home) return;
    dialog.value = tab.window
      ? { kind: 'renameWindow', window: tab.key }
      : { kind: 'rename', pane: pane.id };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'F2') rename();
    else if (event.key === 'ArrowRight') moveFocus(event, 1);
    else if (event.key === 'ArrowLeft') moveFocus(event, -1);
    else if (event.key === 'Delete' && home) desk.orders.requestCloseTab(tab);
    else return;
    event.preventDefault();
  };
  return (
    <>
      {heading && (
        <span class="session" aria-hidden="true">
          {session}
        </span>
      )}
      <div
        class={`tab ${selected ? 'on' : ''} ${info.archive ? 'archive' : info.state}`}
        ref={element}
      >
        <button
          type="button"
          role="tab"
          aria-selected={selected}
          aria-controls="stage"
          {...(home && { 'aria-keyshortcuts': 'Delete F2' })}
          tabIndex={selected ? 0 : -1}
          title={session ? `${session}: ${label}` : label}
          onClick={() => desk.showTab(tab)}
          onDblClick={rename}
          onKeyDown={onKeyDown}
        >
          <Mark panes={tab.panes.flatMap((id) => desk.find(id) ?? [])} />
          <span class="name">
            {session && <span class="sr">{session}: </span>}
            {label}
          </span>
          {more > 0 && (
            <span class="count faint">
              {more}
              <span class="sr"> terminals</span>
            </span>
          )}
        </button>
        {/* For a pointer only: a list of tabs may hold nothing but tabs. Delete and the menu close too. */}
        {home && (
          <button
            type="button"
            class="shut"
            aria-hidden="true"
            title={`Close ${label}`}
            tabIndex={-1}
            onClick={() => desk.orders.requestCloseTab(tab)}
          >
            <Icon name="close" />
          </button>
        )}
      </div>
    </>
  );
}

/** A phone shows one terminal of a window, and here are the others. */
export function Switcher({ desk }: { desk: Desk }) {
  const tab = desk.tab.value;
  if (!desk.narrow.value || !tab || tab.panes.length < 2) return null;
  return (
    <nav class="switcher" aria-label="Terminals of this window">
      {tab.panes.map((id) => {
        const pane = desk.find(id);
        return pane ? (
          <button
            key={id}
            type="button"
            class={desk.active.value === pane ? 'on' : ''}
            aria-current={desk.active.value === pane}
            onClick={() => void desk.show(pane)}
          >
            <Mark panes={[pane]} />
            <span class="name">{desk.label(pane)}</span>
          </button>
        ) : null;
      })}
    </nav>
  );
}

/** What a glance at a tab must tell: it asks for attention, or it ended. */
function Mark({ panes }: { panes: readonly Pane[] }) {
  const rings = panes.some((pane) => pane.attention.value);
  if (rings) return <b class="mark bell" title="Asks for attention" />;
  const info = panes[0]?.info.value;
  if (panes.length !== 1 || !info || info.archive) return null;
  if (info.state === 'lost') return <b class="mark bad" title="Ended, status unknown" />;
  if (info.state === 'exited') {
    const good = info.exit_code === 0;
    return (
      <b class={`mark ${good ? 'done' : 'bad'}`} title={good ? 'Ended' : 'Ended with an error'} />
    );
  }
  return null;
}

function moveFocus(event: KeyboardEvent, by: number): void {
  const tab = event.currentTarget as HTMLElement;
  const all = [
    ...(tab.closest('[role=tablist]')?.querySelectorAll<HTMLElement>('[role=tab]') ?? []),
  ];
  all[(all.indexOf(tab) + by + all.length) % all.length]?.focus();
}
