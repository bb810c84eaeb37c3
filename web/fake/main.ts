// SPDX-License-Identifier: Apache-2.0

import '@xterm/xterm/css/xterm.css';
import '../src/app/style.css';
import { startApp } from '../src/app/app';
import { LinkError, type LinkFailure } from '../src/link/errors';
import { styleWithoutMarkup } from '../src/term/styles';
import { FakeHost } from './host';

styleWithoutMarkup();
const query = new URLSearchParams(location.search);
const host = new FakeHost(
  query.has('records') ? 'records' : query.has('windows') ? 'windows' : 'terminals',
);
const right = query.get('visit');
if (right) host.visit = { resource: 'session:s0', right, expires_at: Date.now() + 3_600_000 };
const failure = query.get('failure');
if (failure) host.failure = new LinkError(failure as LinkFailure, 'pretended');

if (query.get('records') === 'dwindled') host.records?.dwindle();

Object.assign(window, { fakeHost: host });

startApp(document.getElementById('app') as HTMLElement, {
  connect: (onEvent, onRtt) => host.connect(onEvent, onRtt),
  onCode: () => {
    host.failure = null;
  },
  guest: right !== null,
});
