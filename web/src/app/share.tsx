// SPDX-License-Identifier: Apache-2.0

// Letting others look: the form that makes a link, and the lists of links and of paired browsers.

import { useEffect, useState } from 'preact/hooks';
import { safeTitle } from '../term/title';
import type { Device, Share } from '../wire/verbs';
import { Address } from './address';
import type { Desk } from './desk';
import { inOrder, seenText } from './sharing';
import { agoText, untilText } from './times';
import { dialog } from './ui';

/** The lists are asked for anew so often while they are shown: others come and go. */
const lookMs = 2000;

const labelMax = 64;

const lives: readonly (readonly [number, string])[] = [
  [900, '15 minutes'],
  [3600, 'An hour'],
  [8 * 3600, '8 hours'],
  [24 * 3600, 'A day'],
];

/** Makes a link to one pane, and shows it once. */
export function ShareForm({ desk, id }: { desk: Desk; id: string }) {
  const [right, setRight] = useState<'read' | 'write'>('read');
  const [seconds, setSeconds] = useState(3600);
  const [label, setLabel] = useState('');
  const [made, setMade] = useState<{ url: string; until: number } | null>(null);
  const { failure, busy } = desk.sharing;
  useEffect(() => {
    failure.value = '';
  }, [failure]);
  if (made) return <MadeLink url={made.url} until={made.until} right={right} />;
  const submit = async (event: Event) => {
    event.preventDefault();
    const link = await desk.sharing.create(id, right, seconds, label.trim());
    if (link) setMade({ url: link.url, until: link.expires_at });
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <p>
        Whoever opens the link sees this terminal and its scrollback, and no other. They need no
        pairing, so give it to those alone who may look.
      </p>
      <fieldset>
        <legend>Who opens it may</legend>
        <Choice name="right" on={right === 'read'} pick={() => setRight('read')}>
          watch
        </Choice>
        <Choice name="right" on={right === 'write'} pick={() => setRight('write')}>
          watch, and type: everything that you can do in this terminal
        </Choice>
      </fieldset>
      <fieldset class="row">
        <legend>It is good for</legend>
        {lives.map(([life, text]) => (
          <Choice key={life} name="life" on={seconds === life} pick={() => setSeconds(life)}>
            {text}
          </Choice>
        ))}
      </fieldset>
      <label class="field">
        <span>What it is for, if you like</span>
        <input
          class="address"
          value={label}
          maxLength={labelMax}
          autocomplete="off"
          onInput={(event) => setLabel(event.currentTarget.value)}
        />
      </label>
      {failure.value && (
        <p class="fault" role="alert">
          {failure.value}
        </p>
      )}
      <div class="actions">
        <button type="button" onClick={dismiss}>
          Cancel
        </button>
        <button type="submit" class="main" disabled={busy.value || !desk.connected.value}>
          Make the link
        </button>
      </div>
    </form>
  );
}

function Choice(props: {
  name: string;
  on: boolean;
  pick: () => void;
  children: preact.ComponentChildren;
}) {
  return (
    <label class="check">
      <input type="radio" name={props.name} checked={props.on} onChange={props.pick} />
      <span>{props.children}</span>
    </label>
  );
}

function MadeLink(props: { url: string; until: number; right: 'read' | 'write' }) {
  const { url, until, right } = props;
  return (
    <>
      <p>
        Good until {untilText(until, Date.now())}, for {right === 'read' ? 'watching' : 'typing'}.
        It is shown this once; end it at any time under Links and browsers.
      </p>
      <Address url={url} label="Link" />
    </>
  );
}

/** Who else may come in, and how that ends. */
export function Comers({ desk }: { desk: Desk }) {
  const { sharing } = desk;
  const connected = desk.connected.value;
  useEffect(() => {
    if (!connected) return;
    sharing.failure.value = '';
    void sharing.load();
    const timer = setInterval(() => void sharing.load(), lookMs);
    return () => clearInterval(timer);
  }, [sharing, connected]);
  const links = sharing.links.value;
  const devices = sharing.devices.value;
  const failure = sharing.failure.value;
  return (
    <div class="comers">
      {failure && (
        <p class="fault" role="alert">
          {failure}
        </p>
      )}
      <h3>Share links</h3>
      {links?.length === 0 && <p class="faint">There are no links.</p>}
      {links && links.length > 0 && (
        <ul>
          {links.map((link) => (
            <LinkEntry key={link.share} link={link} desk={desk} />
          ))}
        </ul>
      )}
      <h3>Paired browsers</h3>
      {devices && (
        <ul>
          {inOrder(devices, ownDevice(desk)).map((device) => (
            <DeviceEntry key={device.device} device={device} desk={desk} />
          ))}
        </ul>
      )}
    </div>
  );
}

function LinkEntry({ link, desk }: { link: Share; desk: Desk }) {
  const what = sharedText(link, desk);
  const label = safeTitle(link.label);
  return (
    <li class="comer">
      <div class="what">
        <b>{what}</b>
        {label && <span class="faint"> {label}</span>}
        <div>
          {link.right === 'read' ? 'Watch' : 'Watch and type'} until{' '}
          {untilText(link.expires_at, Date.now())}
        </div>
        <div class="faint">
          {openText(link)} Made by {makerText(link, desk)}.
        </div>
      </div>
      <div class="actions">
        <button
          type="button"
          disabled={desk.sharing.busy.value || !desk.connected.value}
          aria-label={`End the link to ${what}`}
          onClick={() => void desk.sharing.revoke(link.share)}
        >
          End
        </button>
      </div>
    </li>
  );
}

function sharedText({ resource }: Share, desk: Desk): string {
  const [kind, id = ''] = resource.split(':');
  if (kind === 'session') {
    const found = desk.sessions.value.find(({ session }) => session === id);
    return `All of ${safeTitle(found?.name ?? '') || id}`;
  }
  const pane = desk.find(id);
  return pane ? desk.label(pane) : id;
}

function makerText({ by }: Share, desk: Desk): string {
  if (by === desk.principal.value) return 'this browser';
  if (by === 'owner') return 'you, on the host';
  const maker = desk.sharing.devices.value?.find(({ device }) => by === `device:${device}`);
  return safeTitle(maker?.name ?? '') || by;
}

function openText({ open, used_at }: Share): string {
  if (open > 0) return open === 1 ? 'Open in one browser now.' : `Open in ${open} browsers now.`;
  return used_at === 0 ? 'Not opened yet.' : `Opened ${agoText(used_at, Date.now())}.`;
}

/** The id by which the host knows this browser; '' for who is none of the paired. */
function ownDevice(desk: Desk): string {
  return /^device:(.*)$/.exec(desk.principal.value)?.[1] ?? '';
}

function DeviceEntry({ device, desk }: { device: Device; desk: Desk }) {
  const [sure, setSure] = useState(false);
  const name = safeTitle(device.name) || device.device;
  const own = device.device === ownDevice(desk);
  const off = desk.sharing.busy.value || !desk.connected.value;
  return (
    <li class="comer">
      <div class="what">
        <b>{name}</b>
        {own && <span class="faint"> this browser</span>}
        <div class="faint">
          {seenText(device, Date.now())} Paired {agoText(device.paired_at, Date.now())}.
        </div>
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
              disabled={off}
              onClick={() => void desk.sharing.unpair(device.device)}
            >
              {own ? 'Lock this browser out' : `Lock ${name} out`}
            </button>
          </>
        ) : (
          <button
            type="button"
            disabled={off}
            aria-label={`Unpair ${name}…`}
            onClick={() => setSure(true)}
          >
            Unpair…
          </button>
        )}
      </div>
    </li>
  );
}

function dismiss(): void {
  dialog.value = null;
}
