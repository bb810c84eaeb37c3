// SPDX-License-Identifier: Apache-2.0

import { useEffect, useRef, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import type { Desk } from './desk';
import { Icon } from './icons';
import type { Pane } from './pane';
import { changeFontSize, fontSize, look, resetFontSize, screenReader } from './settings';
import { dialog } from './ui';

/** Rows of history that the text view shows; all of it is in the saved file. */
const textRowsMax = 5000;

export function Menu({ desk }: { desk: Desk }) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const away = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener('pointerdown', away, true);
    root.current?.querySelector<HTMLElement>('[role^=menuitem]')?.focus();
    return () => removeEventListener('pointerdown', away, true);
  }, [open]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!open) return;
    if (event.key === 'Escape') setOpen(false);
    else if (event.key === 'ArrowDown') step(root.current, 1);
    else if (event.key === 'ArrowUp') step(root.current, -1);
    else return;
    event.preventDefault();
  };
  const pane = desk.active.value;
  const several = (desk.tab.value?.panes.length ?? 0) > 1;
  const choose = (work: () => void) => () => {
    setOpen(false);
    pane?.screen.term.focus();
    work();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it hears the keys of the menu's own buttons.
    <div class="menu" ref={root} onKeyDown={onKeyDown}>
      <button
        type="button"
        class="tool"
        aria-label="Menu"
        aria-haspopup="menu"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <Icon name="menu" />
      </button>
      {open && (
        <div class="menu-list" role="menu">
          <Item off={!pane} run={choose(() => void pane?.reveal.page(-1))} keys="Shift+PgUp">
            Scrollback
          </Item>
          <Item off={!pane} run={choose(() => void pane?.reveal.search())} keys="Ctrl+Shift+F">
            Find in scrollback
          </Item>
          <Item off={!pane} run={choose(() => pane && saveHistory(desk, pane))}>
            Save history as text
          </Item>
          <Item off={!pane} run={choose(() => pane && showText(pane))}>
            Select text
          </Item>
          {desk.arranges.value && !desk.guest && (
            <>
              <Item
                off={!pane}
                run={choose(() => void desk.orders.split('cols'))}
                keys="Ctrl+Shift+E"
              >
                Split right
              </Item>
              <Item
                off={!pane}
                run={choose(() => void desk.orders.split('rows'))}
                keys="Ctrl+Shift+O"
              >
                Split below
              </Item>
              <Item off={!several} run={choose(() => void desk.orders.zoom())} keys="Ctrl+Shift+Z">
                {desk.tab.value?.window?.zoomed ? 'Show the others again' : 'Zoom'}
              </Item>
              <Item off={!several} run={choose(() => void desk.orders.float())} keys="Ctrl+Shift+G">
                {isFloat(desk) ? 'Back into the splits' : 'Float above the splits'}
              </Item>
            </>
          )}
          {!desk.guest && (
            <>
              <Item off={!pane} run={choose(() => pane && openRename(pane))} keys="Ctrl+Shift+L">
                Rename terminal
              </Item>
              <Item
                off={!pane}
                run={choose(() => pane && desk.orders.requestClose(pane))}
                keys="Ctrl+Shift+X"
              >
                Close terminal
              </Item>
              <Item off={!pane || !desk.connected.value} run={choose(() => pane && share(pane))}>
                Share terminal
              </Item>
            </>
          )}
          <hr />
          <div class="menu-row">
            <span>Text size</span>
            <span class="stepper">
              <button
                type="button"
                role="menuitem"
                aria-label="Smaller text"
                onClick={() => changeFontSize(-1)}
              >
                −
              </button>
              <button
                type="button"
                role="menuitem"
                aria-label={`${fontSize.value}, back to the usual text size`}
                onClick={resetFontSize}
              >
                {fontSize.value}
              </button>
              <button
                type="button"
                role="menuitem"
                aria-label="Larger text"
                onClick={() => changeFontSize(1)}
              >
                +
              </button>
            </span>
          </div>
          <div class="menu-row">
            <span>Look</span>
            <span class="stepper">
              {(['auto', 'dark', 'light'] as const).map((value) => (
                <button
                  key={value}
                  type="button"
                  role="menuitemradio"
                  aria-checked={look.value === value}
                  onClick={() => {
                    look.value = value;
                  }}
                >
                  {value}
                </button>
              ))}
            </span>
          </div>
          <button
            type="button"
            class="menu-item"
            role="menuitemcheckbox"
            aria-checked={screenReader.value}
            onClick={() => {
              screenReader.value = !screenReader.value;
            }}
          >
            <span>Screen reader support</span>
            <kbd>{screenReader.value ? 'on' : 'off'}</kbd>
          </button>
          <hr />
          {!desk.guest && (
            <>
              <Item
                run={choose(() => {
                  dialog.value = { kind: 'records' };
                })}
              >
                Checkpoints
              </Item>
              <Item
                run={choose(() => {
                  dialog.value = { kind: 'comers' };
                })}
              >
                Links and browsers
              </Item>
              <Item run={choose(() => void desk.orders.pairAnother())}>Pair another browser</Item>
            </>
          )}
          <Item
            run={choose(() => {
              dialog.value = { kind: 'help' };
            })}
            keys="Ctrl+Shift+H"
          >
            Keys and help
          </Item>
        </div>
      )}
    </div>
  );
}

function Item(props: {
  run: () => void;
  off?: boolean;
  keys?: string;
  children: ComponentChildren;
}) {
  return (
    <button
      type="button"
      class="menu-item"
      role="menuitem"
      disabled={props.off ?? false}
      onClick={props.run}
    >
      <span>{props.children}</span>
      {props.keys && <kbd>{props.keys}</kbd>}
    </button>
  );
}

function step(root: HTMLElement | null, by: number): void {
  const all = [...(root?.querySelectorAll<HTMLElement>('[role^=menuitem]:not(:disabled)') ?? [])];
  const at = all.indexOf(document.activeElement as HTMLElement);
  all[(at + by + all.length) % all.length]?.focus();
}

function isFloat(desk: Desk): boolean {
  const floats = desk.tab.value?.window?.floats ?? [];
  return floats.some(({ pane }) => pane === desk.active.value?.id);
}

function openRename(pane: Pane): void {
  dialog.value = { kind: 'rename', pane: pane.id };
}

function share(pane: Pane): void {
  dialog.value = { kind: 'share', pane: pane.id };
}

function wholeText(pane: Pane): string {
  const history = pane.historyText();
  return `${history}${pane.screen.text().trimEnd()}\n`;
}

function showText(pane: Pane): void {
  const lines = wholeText(pane).split('\n');
  dialog.value = { kind: 'text', text: lines.slice(-textRowsMax).join('\n') };
}

/** Hands the whole history and the screen to the browser as a file. */
function saveHistory(desk: Desk, pane: Pane): void {
  const url = URL.createObjectURL(new Blob([wholeText(pane)], { type: 'text/plain' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${desk
    .label(pane)
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .slice(0, 60)}.txt`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
