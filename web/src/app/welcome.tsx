// SPDX-License-Identifier: Apache-2.0

// What is shown when there is no terminal to show.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Bytes } from '../wire/b64';
import type { LinkFailure } from '../link/errors';
import { readCode } from './code';
import type { Desk } from './desk';
import { Checkpoints } from './records';

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

export function Welcome({ desk, onCode }: { desk: Desk; onCode(code: Bytes): void }) {
  const failure = desk.halted;
  if (failure) return <Halted failure={failure} onCode={onCode} />;
  if (desk.known.value && desk.panes.value.length === 0) return <NoTerminals desk={desk} />;
  return null;
}

function Halted({ failure, onCode }: { failure: LinkFailure; onCode(code: Bytes): void }) {
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
  if (failure in why) {
    const [title, text] = why[failure as keyof typeof why];
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
        onClick={() => void desk.create()}
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
