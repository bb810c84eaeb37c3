// SPDX-License-Identifier: Apache-2.0

import '@xterm/xterm/css/xterm.css';
import './style.css';
import { BrowserPairingStore } from '../link/keys';
import { connectPeer } from '../link/peer';
import { styleWithoutMarkup } from '../term/styles';
import { startApp } from './app';
import { deviceName, takeCodeFromAddress } from './code';

let code = takeCodeFromAddress();
styleWithoutMarkup();

const store = new BrowserPairingStore();
const url = `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/api/signal`;

const desk = startApp(document.getElementById('app') as HTMLElement, {
  connect: (onEvent, onRtt) =>
    connectPeer({
      url,
      store,
      code: () => code,
      onPaired: () => {
        code = null;
      },
      deviceName: deviceName(navigator.userAgent),
      onEvent,
      onRtt,
    }).catch((error: unknown) => {
      // A code that was refused is not tried again by itself.
      if (error instanceof Error && error.message.startsWith('pair_invalid')) code = null;
      throw error;
    }),
  onCode: (given) => {
    code = given;
  },
});

// The address of a fresh link, opened in a tab that already shows the page.
addEventListener('hashchange', () => {
  const given = takeCodeFromAddress();
  if (!given) return;
  code = given;
  if (desk.halted) desk.start();
});
