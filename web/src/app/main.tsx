// SPDX-License-Identifier: Apache-2.0

import '@xterm/xterm/css/xterm.css';
import './style.css';
import { LinkError, type LinkFailure } from '../link/errors';
import { BrowserPairingStore } from '../link/keys';
import { PairedBrowser } from '../link/paired';
import { connectPeer } from '../link/peer';
import { BrowserVisits } from '../link/visits';
import { styleWithoutMarkup } from '../term/styles';
import { startApp } from './app';
import { deviceName, takeFromAddress } from './code';
import { leaveVisit, visitOfTab } from './guest';

const brought = takeFromAddress();
styleWithoutMarkup();

let code = brought.code;
const visits = new BrowserVisits();
if (code) void leaveVisit(visits);
const guest = code ? null : visitOfTab(brought.link, visits);
const identity =
  guest ??
  new PairedBrowser({
    store: new BrowserPairingStore(),
    code: () => code,
    onPaired: () => {
      code = null;
    },
    deviceName: deviceName(navigator.userAgent),
  });
const url = `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/api/signal`;

const desk = startApp(document.getElementById('app') as HTMLElement, {
  connect: (onEvent, onRtt) =>
    connectPeer({ url, identity, onEvent, onRtt }).catch(async (error: unknown) => {
      // What was refused is not tried again by itself, nor after the page is loaded anew.
      if (failed(error, 'pair_invalid')) code = null;
      if (failed(error, 'share_ended')) await leaveVisit(visits);
      throw error;
    }),
  onCode: (given) => {
    code = given;
  },
  guest: guest !== null,
  onLeave: async () => {
    await leaveVisit(visits);
    location.reload();
  },
});

function failed(error: unknown, how: LinkFailure): boolean {
  return error instanceof LinkError && error.failure === how;
}

// The address of a fresh link, opened in a tab that already shows the page. Whoever the page is to the host, it
// is for as long as it is loaded.
addEventListener('hashchange', () => {
  if (guest || location.hash.startsWith('#share=')) return location.reload();
  const given = takeFromAddress().code;
  if (!given) return;
  code = given;
  if (desk.halted) desk.start();
});
