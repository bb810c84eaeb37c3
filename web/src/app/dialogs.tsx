// SPDX-License-Identifier: Apache-2.0

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Address } from './address';
import type { Desk } from './desk';
import { Checkpoints } from './records';
import { ShareForm, Comers } from './share';
import { shortcutHelp } from './shortcuts';
import { type Dialog, dialog } from './ui';
import { wordsOf } from './words';

/** Lines of a paste that are shown before it is sent. */
const previewLines = 12;

export function Dialogs({ desk }: { desk: Desk }) {
  const open = dialog.value;
  useEffect(() => {
    // What had the focus before may be gone: keys are meant for the terminal then.
    if (!open && document.activeElement === document.body) {
      desk.active.value?.screen.term.focus();
    }
  }, [open, desk]);
  return open ? <Content key={open.kind} open={open} desk={desk} /> : null;
}

function Content({ open, desk }: { open: Dialog; desk: Desk }) {
  switch (open.kind) {
    case 'help':
      return <Help guest={desk.guest} />;
    case 'close':
      return <ConfirmClose desk={desk} id={open.pane} />;
    case 'paste':
      return <ConfirmPaste text={open.text} send={open.send} />;
    case 'pair':
      return <PairLink url={open.url} />;
    case 'text':
      return <SelectText text={open.text} />;
    case 'rename':
      return <Rename desk={desk} id={open.pane} />;
    case 'renameWindow':
      return <RenameWindow desk={desk} id={open.window} />;
    case 'closeWindow':
      return <ConfirmCloseWindow desk={desk} id={open.window} panes={open.panes} />;
    case 'records':
      return <Records desk={desk} />;
    case 'share':
      return <ShareDialog desk={desk} id={open.pane} />;
    case 'comers':
      return <ComersDialog desk={desk} />;
    case 'relaunch':
      return <Relaunch desk={desk} id={open.pane} />;
  }
}

function dismiss(): void {
  dialog.value = null;
}

function Modal(props: { title: string; wide?: boolean; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog
      ref={element}
      class={props.wide ? 'wide' : ''}
      aria-label={props.title}
      onClose={dismiss}
      {...{ closedby: 'any' }}
    >
      <div class="dialog">
        <h2>{props.title}</h2>
        {props.children}
      </div>
    </dialog>
  );
}

function ConfirmClose({ desk, id }: { desk: Desk; id: string }) {
  const pane = desk.find(id);
  if (!pane) return null;
  const close = () => {
    dismiss();
    void desk.orders.close(pane);
  };
  return (
    <Modal title={`Close ${desk.label(pane)}?`}>
      <p>Its shell ends, and so does what runs in it. Closing this tab of the browser would not.</p>
      <div class="actions">
        <button type="button" onClick={dismiss}>
          Keep
        </button>
        <button type="button" class="danger" onClick={close}>
          End and close
        </button>
      </div>
    </Modal>
  );
}

function ConfirmCloseWindow(props: { desk: Desk; id: string; panes: number }) {
  const close = () => {
    dismiss();
    void props.desk.orders.closeWindow(props.id);
  };
  return (
    <Modal title={`Close ${props.panes} terminals?`}>
      <p>
        Their shells end, and so does what runs in them. Closing this tab of the browser would not.
      </p>
      <div class="actions">
        <button type="button" onClick={dismiss}>
          Keep
        </button>
        <button type="button" class="danger" onClick={close}>
          End and close
        </button>
      </div>
    </Modal>
  );
}

function ConfirmPaste({ text, send }: { text: string; send: () => void }) {
  const lines = text.split(/\r\n|\r|\n/);
  const more = lines.length - previewLines;
  const paste = () => {
    dismiss();
    send();
  };
  return (
    <Modal title={`Paste ${lines.length} lines?`}>
      <p>The program has not asked for marked pastes, so each line may run at once.</p>
      <pre class="preview">
        {lines.slice(0, previewLines).join('\n')}
        {more > 0 ? `\n… ${more} more` : ''}
      </pre>
      <div class="actions">
        <button type="button" onClick={dismiss}>
          Cancel
        </button>
        <button type="button" class="main" onClick={paste}>
          Paste
        </button>
      </div>
    </Modal>
  );
}

function PairLink({ url }: { url: string }) {
  return (
    <Modal title="Pair another browser">
      <p>Open this address there. It works once, for ten minutes.</p>
      <Address url={url} label="Address" />
    </Modal>
  );
}

function SelectText({ text }: { text: string }) {
  const pre = useRef<HTMLPreElement>(null);
  useEffect(() => {
    pre.current?.scrollTo(0, pre.current.scrollHeight);
  }, []);
  return (
    <Modal title="Select text" wide>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must take the arrow keys. */}
      <pre class="selectable" ref={pre} tabIndex={0}>
        {text}
      </pre>
      <div class="actions">
        <button type="button" onClick={dismiss}>
          Done
        </button>
      </div>
    </Modal>
  );
}

function Rename({ desk, id }: { desk: Desk; id: string }) {
  const pane = desk.find(id);
  if (!pane) return null;
  return (
    <NameForm
      title="Rename terminal"
      name={pane.info.value.name}
      instead={desk.label(pane)}
      hint="Without a name the program’s own title is shown."
      desk={desk}
      take={(name) => desk.orders.rename(pane, name)}
    />
  );
}

/** A tab is a window, and a window's name is what a checkpoint keeps of all of this. */
function RenameWindow({ desk, id }: { desk: Desk; id: string }) {
  const window = desk.windows.value.find((at) => at.window === id);
  const pane = desk.find(window?.active ?? '');
  if (!window) return null;
  return (
    <NameForm
      title="Rename tab"
      name={window.name}
      instead={pane ? desk.label(pane) : ''}
      hint="Without a name the tab is called by its terminal. Checkpoints keep it."
      desk={desk}
      take={(name) => desk.orders.renameWindow(id, name)}
    />
  );
}

function NameForm(props: {
  title: string;
  name: string;
  /** What is shown when there is no name. */
  instead: string;
  hint: string;
  desk: Desk;
  take(name: string): Promise<void>;
}) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.select(), []);
  const submit = (event: Event) => {
    event.preventDefault();
    const name = input.current?.value ?? '';
    dismiss();
    void props.take(name);
    props.desk.active.value?.screen.term.focus();
  };
  return (
    <Modal title={props.title}>
      <form onSubmit={submit}>
        <input
          ref={input}
          class="address"
          maxLength={64}
          defaultValue={props.name}
          placeholder={props.instead}
          aria-label="Name"
        />
        <p class="faint">{props.hint}</p>
        <div class="actions">
          <button type="button" onClick={dismiss}>
            Cancel
          </button>
          <button type="submit" class="main">
            Rename
          </button>
        </div>
      </form>
    </Modal>
  );
}

function Records({ desk }: { desk: Desk }) {
  return (
    <Modal title="Checkpoints" wide>
      <p>
        What spawnd has noted of its terminals, for the day on which the host was switched off. A
        restore brings back names, places and the kept text, as records to read. It starts nothing.
      </p>
      <Checkpoints desk={desk} />
      <div class="actions">
        <button type="button" onClick={dismiss}>
          Done
        </button>
      </div>
    </Modal>
  );
}

function ShareDialog({ desk, id }: { desk: Desk; id: string }) {
  const pane = desk.find(id);
  if (!pane) return null;
  return (
    <Modal title={`Share ${desk.label(pane)}`}>
      <ShareForm desk={desk} id={id} />
    </Modal>
  );
}

function ComersDialog({ desk }: { desk: Desk }) {
  return (
    <Modal title="Links and browsers" wide>
      <p>
        Whoever has a link sees what it leads to, until it ends. A paired browser can do everything
        that you can. What ends here is closed there at once; terminals go on.
      </p>
      <Comers desk={desk} />
      <div class="actions">
        <button type="button" onClick={dismiss}>
          Done
        </button>
      </div>
    </Modal>
  );
}

function Relaunch({ desk, id }: { desk: Desk; id: string }) {
  const pane = desk.find(id);
  const [line, setLine] = useState('/bin/sh');
  const [known, setKnown] = useState(false);
  const [failure, setFailure] = useState('');
  if (!pane) return null;
  const argv = wordsOf(line);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!known || !argv?.length) return;
    const why = await desk.orders.relaunch(pane, argv);
    setFailure(why);
    if (!why) dismiss();
  };
  return (
    <Modal title={`Relaunch ${desk.label(pane)}`}>
      <form onSubmit={(event) => void submit(event)}>
        <p>
          This starts a new program in the place of the record, whose text goes. It continues
          nothing. What ran before was not kept, so say what to run:
        </p>
        <input
          class="address"
          value={line}
          aria-label="Command line"
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          onInput={(event) => setLine(event.currentTarget.value)}
        />
        <p class="argv" role="status">
          {argv === null && 'A quotation mark is open.'}
          {argv?.length === 0 && 'No command.'}
          {argv?.map((word, place) => (
            <code key={place}>{word}</code>
          ))}
        </p>
        <label class="check">
          <input
            type="checkbox"
            checked={known}
            onChange={(event) => setKnown(event.currentTarget.checked)}
          />
          <span>
            I know that earlier programs of this terminal may still run, and that this may do their
            work a second time.
          </span>
        </label>
        {failure && (
          <p class="fault" role="alert">
            {failure}
          </p>
        )}
        <div class="actions">
          <button type="button" onClick={dismiss}>
            Cancel
          </button>
          <button type="submit" class="main" disabled={!known || !argv?.length}>
            Start
          </button>
        </div>
      </form>
    </Modal>
  );
}

function Help({ guest }: { guest: boolean }) {
  return (
    <Modal title="Keys and help" wide>
      <p>
        {guest
          ? 'You are a visitor here, by a link that somebody gave you. The terminal lives on their host.'
          : 'Everything else goes to the terminal. It lives on the host: close this tab, lose the network, restart spawnd, and it is here when you come back.'}
      </p>
      <table>
        <tbody>
          {shortcutHelp(guest).map(([keys, what]) => (
            <tr key={keys}>
              <th scope="row">
                <kbd>{keys}</kbd>
              </th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="faint">
        One window controls a terminal and gives it its size; others watch, ask, or take over.
        Programs may not read or write your clipboard.
      </p>
      <div class="actions">
        <button type="button" class="main" onClick={dismiss}>
          Close
        </button>
      </div>
    </Modal>
  );
}
