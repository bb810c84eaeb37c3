// SPDX-License-Identifier: Apache-2.0

// What is shown when there is no terminal to show.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Bytes } from '../wire/b64';
import type { LinkFailure } from '../link/errors';
import { readCode } from './code';
import type { Desk } from './desk';
import { Checkpoints } from './records';
import { endedText } from './visit';

const why: Record<
  'unpaired' | 'unknown_device' | 'pair_invalid' | 'identity_changed',
  [string, string]
> = {
  unpaired: [
    'Pair this browser',
    'Open the address that spawnd printed when it started, or paste it here. It is needed once.',
  ],
  unknown_device: [
    'Pair this browser again',
    'The host does not know this browser any more. Open a fresh address of spawnd, or paste it here.',
  ],
  pair_invalid: [
    'That code does not work',
    'A code works once, for ten minutes, and this one is used up, too old or mistyped. Paste a fresh address of spawnd here.',
  ],
  identity_changed: [
    'This is not the host you paired with',
    'Whatever answers here shows another key than the one this browser remembers, so nothing was sent to it. If you set spawnd up anew, paste its fresh address: its code proves that it is yours. If you did not, another program may be answering in its place.',
  ],
};

const lockedOut: [string, string] = [
  'This browser was unpaired',
  'It was removed from the host’s list of browsers, so nothing of the terminals is shown here any more. To come back, open a fresh address of spawnd, or paste it here.',
];

const otherHost: [string, string] = [
  'This is not the host of the link',
  'Whatever answers here shows another key than the one that the link names, so nothing was sent to it.',
];

export function Welcome({ desk, onCode }: { desk: Desk; onCode(code: Bytes): void }) {
  const failure = desk.halted;
  if (failure) return <Halted desk={desk} failure={failure} onCode={onCode} />;
  const link = desk.link.value;
  if (link.phase !== 'up' && link.failure === 'share_full') {
    return (
      <Card
        title="Too many are looking"
        text="As many have this link open as may. This page tries again by itself."
      />
    );
  }
  if (!desk.known.value || desk.panes.value.length > 0) return null;
  if (!desk.guest) return <NoTerminals desk={desk} />;
  return <Card title="Nothing to see" text="What this link shows has no terminal now." />;
}

function Halted(props: { desk: Desk; failure: LinkFailure; onCode(code: Bytes): void }) {
  const { desk, failure, onCode } = props;
  if (failure === 'protocol') {
    return (
      <Card
        title="A newer spawnd is running"
        text="Load the page again to get the one that fits it."
      >
        <button type="button" class="main" onClick={() => location.reload()}>
          Load again
        </button>
      </Card>
    );
  }
  if (desk.guest && failure !== 'unsupported') {
    const [title, text] = failure === 'identity_changed' ? otherHost : endedText(desk);
    return <Card title={title} text={text} />;
  }
  if (failure in why) {
    const [title, text] =
      failure === 'unknown_device' && desk.known.value
        ? lockedOut
        : why[failure as keyof typeof why];
    return (
      <Card title={title} text={text}>
        <CodeForm onCode={onCode} />
      </Card>
    );
  }
  return (
    <Card
      title="This browser cannot show spawn"
      text="It needs WebRTC, Ed25519 signatures and a secure page (https, or http on this machine). Current Chrome, Edge, Firefox and Safari have them."
    />
  );
}

function CodeForm({ onCode }: { onCode(code: Bytes): void }) {
  const input = useRef<HTMLInputElement>(null);
  const [wrong, setWrong] = useState(false);
  const submit = (event: Event) => {
    event.preventDefault();
    const code = readCode(input.current?.value ?? '');
    setWrong(!code);
    if (code) onCode(code);
  };
  return (
    <form onSubmit={submit}>
      <input
        ref={input}
        class="address"
        aria-label="Address with code"
        placeholder="http://127.0.0.1:…/#pair=…"
        autocomplete="off"
        spellcheck={false}
        aria-invalid={wrong}
      />
      {wrong && <p role="alert">That holds no pairing code.</p>}
      <div class="actions">
        <button type="submit" class="main">
          Pair
        </button>
      </div>
    </form>
  );
}

function NoTerminals({ desk }: { desk: Desk }) {
  const found = (desk.recovery.checkpoints.value?.length ?? 0) > 0;
  useEffect(() => void desk.recovery.load(), [desk]);
  return (
    <Card title="No terminals" text="A terminal you open here goes on when you close the page.">
      <button
        type="button"
        class="main"
        disabled={!desk.connected.value}
        onClick={() => void desk.orders.create()}
      >
        New terminal
      </button>
      {(found || desk.recovery.failure.value) && (
        <>
          <h2>What was here before</h2>
          <p>
            A restore brings back names, places and the kept text, as records to read. It starts
            nothing.
          </p>
          <Checkpoints desk={desk} />
        </>
      )}
    </Card>
  );
}

function Card(props: { title: string; text: string; children?: preact.ComponentChildren }) {
  return (
    <div class="card-place">
      <section class="card">
        <h1>{props.title}</h1>
        <p>{props.text}</p>
        {props.children}
      </section>
    </div>
  );
}
