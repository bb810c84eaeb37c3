// SPDX-License-Identifier: Apache-2.0

// Letting others look, against a real spawnd: a visitor sees what the link leads to
// and no more, the owner's terminal does not notice, and every end is seen at once.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { assertAccessible } from './axe.mjs';
import {
  phone,
  screenshot,
  sidewaysOverflow,
  typeLine,
  until,
  untilLive,
  untilScreen,
} from './browser.mjs';
import { drive, knownShell, newTerminal, visit } from './person.mjs';
import { binary, Spawnd, skip } from './spawnd.mjs';

const run = promisify(execFile);
const small = { viewport: { width: 620, height: 420 } };
let spawnd;

before(async () => {
  if (!skip) spawnd = await Spawnd.create();
});

after(() => spawnd?.destroy());

const spawnctl = async (...args) => {
  const { stdout } = await run(binary, args, { env: spawnd.env });
  return stdout.trim();
};

const shares = async () => JSON.parse(await spawnctl('share', 'list', '--json')).shares;

const sizeOf = (page, id) =>
  page.evaluate((pane) => {
    const { cols, rows } = window.spawn.state().panes.find((one) => one.id === pane);
    return `${cols}x${rows}`;
  }, id);

const active = (page) => page.evaluate(() => window.spawn.state().active);

const text = (page) => page.evaluate(() => window.spawn.screenText());

const choose = async (page, name) => {
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('menuitem', { name }).click();
};

/** Lets a test speak on the page's own control channel, as a page that is not ours would. */
async function tapControl(page) {
  await page.addInitScript(() => {
    const { createDataChannel } = RTCPeerConnection.prototype;
    RTCPeerConnection.prototype.createDataChannel = function tapped(label, options) {
      const channel = createDataChannel.call(this, label, options);
      if (label === 'spawn.ctl') window.tappedCtl = channel;
      window.tappedPeer = this;
      return channel;
    };
  });
}

/** What the host answers to a request on the tapped channel: the result, or the code of the refusal. */
const asks = (page, verb, params) =>
  page.evaluate(
    ([name, given]) =>
      new Promise((resolve) => {
        window.tappedId = (window.tappedId ?? 1_000_000) + 1;
        const id = window.tappedId;
        const hear = ({ data }) => {
          const message = JSON.parse(data);
          if (message.id !== id) return;
          window.tappedCtl.removeEventListener('message', hear);
          resolve(message.error?.code ?? message.ok);
        };
        window.tappedCtl.addEventListener('message', hear);
        if (name === 'view.attach') window.tappedPeer.createDataChannel(`spawn.pty.${given.pane}`);
        window.tappedCtl.send(JSON.stringify({ id, verb: name, params: given }));
      }),
    [verb, params],
  );

/** The owner at a desk, with two terminals of which the first is shown. */
const owner = (work) => async () =>
  visit(spawnd, await spawnd.freshUrl(), {}, async (page) => {
    await knownShell(page);
    const first = await active(page);
    const second = await newTerminal(page);
    await page.getByRole('tab').first().click();
    await until(page, (id) => window.spawn.state().active === id, first);
    await drive(page);
    try {
      await work(page, first, second);
    } finally {
      for (const { share } of await shares()) await spawnctl('share', 'revoke', '--share', share);
      for (const id of [first, second])
        await spawnctl('pane', 'close', '--pane', id).catch(() => {});
    }
  });

/** A browser that is paired with nothing, at a link, which may be made when the browser is there. */
const visitor = (link, work, options = small) =>
  visit(spawnd, 'about:blank', options, async (page, browser) => {
    await tapControl(page);
    await page.goto(typeof link === 'string' ? link : await link());
    await work(page, browser);
  });

async function makeLink(page, right) {
  await choose(page, 'Share terminal');
  const form = page.getByRole('dialog');
  await form.waitFor();
  await assertAccessible(page, 'share form');
  await screenshot(page, 'share-form');
  if (right === 'write') await form.getByLabel(/watch, and type/).check();
  await form.getByLabel('15 minutes').check();
  await form.getByLabel(/What it is for/).fill('code review');
  await form.getByRole('button', { name: 'Make the link' }).click();
  const link = await form.getByLabel('Link', { exact: true }).inputValue();
  assert.match(link, /^http:\/\/127\.0\.0\.1:\d+\/#share=[\w-]{43}\.[\w-]{43}$/);
  await screenshot(page, 'share-made');
  await form.getByRole('button', { name: 'Done' }).click();
  return link;
}

test(
  'a visitor watches one terminal, changes nothing, and is closed out when the link ends',
  { skip },
  owner(async (page, first, second) => {
    const size = await sizeOf(page, first);
    const link = await makeLink(page, 'read');
    await visitor(link, async (guest, browser) => {
      await untilLive(guest);
      assert.equal(new URL(guest.url()).hash, '');
      await page.bringToFront();
      await typeLine(page, 'echo made-at-$((40+2))');
      await untilScreen(guest, /^made-at-42$/);
      assert.deepEqual(await guest.evaluate(() => window.spawn.state().panes.map(({ id }) => id)), [
        first,
      ]);
      await guest.getByText(/Visitor, read only, until \d/).waitFor();
      for (const name of ['New terminal', 'Take over', 'Ask for control', 'Close terminal']) {
        assert.equal(await guest.getByRole('button', { name }).count(), 0, name);
      }
      assert.equal(await sidewaysOverflow(guest), 0);
      await assertAccessible(guest, 'visitor');
      await screenshot(guest, 'visitor-reading');

      const before = await text(page);
      await guest.locator('.screen:not([hidden])').click();
      await guest.keyboard.type('rm -rf everything');
      await guest.getByRole('alert').getByText('Keys are not sent').waitFor();
      await guest.keyboard.press('Control+Shift+Enter');
      await guest.keyboard.press('Control+Shift+X');
      await guest.getByRole('button', { name: 'Menu' }).click();
      await screenshot(guest, 'visitor-menu');
      assert.deepEqual(
        (await guest.getByRole('menuitem').allTextContents()).filter((item) =>
          /Split|Close|Rename|Share|Checkpoints|Pair|Links/.test(item),
        ),
        [],
      );
      await guest.keyboard.press('Escape');

      // A page that is not ours gets no further.
      for (const [verb, params] of [
        ['view.attach', { pane: second, cols: 80, rows: 24, history: true }],
        ['view.attach', { pane: 'p99', cols: 80, rows: 24, history: true }],
        ['pane.capture', { pane: second }],
        ['pane.capture', { pane: 'p99' }],
      ]) {
        assert.equal(await asks(guest, verb, params), 'denied.read', `${verb} ${params.pane}`);
      }
      assert.equal(await asks(guest, 'pane.send', { pane: first, text: 'x\r' }), 'denied.write');
      const resize = await asks(guest, 'view.resize', { pane: first, cols: 20, rows: 5 });
      assert.match(resize, /^denied\./);
      const { panes } = await asks(guest, 'pane.list', {});
      assert.deepEqual(
        panes.map(({ id }) => id),
        [first],
      );

      assert.equal(await sizeOf(page, first), size, 'the small window of the visitor is no matter');
      assert.equal(await text(page), before, 'nothing that the visitor typed came');
      await guest.setViewportSize({ width: 420, height: 300 });
      await guest.reload();
      await untilLive(guest);
      await untilScreen(guest, /^made-at-42$/);
      assert.equal(await sizeOf(page, first), size);

      await choose(page, 'Links and browsers');
      const list = page.getByRole('dialog');
      await list.getByText('Open in one browser now. Made by this browser.').waitFor();
      await list.getByText('code review').waitFor();
      await assertAccessible(page, 'links and browsers');
      await screenshot(page, 'links-and-browsers');
      await list.getByRole('button', { name: /^End the link/ }).click();
      await guest.getByRole('heading', { name: 'This visit is over' }).waitFor();
      await list.getByText('There are no links.').waitFor();
      assert.equal(await guest.locator('.cell').count(), 0, 'nothing of the terminal is left');
      await assertAccessible(guest, 'visit over');
      await screenshot(guest, 'visitor-over');
      assert.deepEqual(
        browser.problems.filter((said) => !/WebSocket|net::/.test(said)),
        [],
      );
    });
    await visitor(link, async (guest) => {
      await guest.getByRole('heading', { name: 'This link does not work' }).waitFor();
      await screenshot(guest, 'visitor-late');
    });
  }),
);

test(
  'T10: the secret of a link stays out of requests, frames, storage and logs',
  { skip },
  owner(async (page, first) => {
    const link = await spawnctl('share', 'create', '--resource', `pane:${first}`);
    const secret = /#share=([\w-]{43})\./.exec(link)[1];
    await visit(spawnd, 'about:blank', small, async (guest) => {
      const said = [];
      guest.on('request', async (request) => {
        said.push(request.url(), JSON.stringify(await request.allHeaders().catch(() => ({}))));
      });
      guest.on('websocket', (socket) => {
        said.push(socket.url());
        socket.on('framesent', ({ payload }) => said.push(String(payload)));
        socket.on('framereceived', ({ payload }) => said.push(String(payload)));
      });
      await guest.goto(link);
      await untilLive(guest);
      const kept = await guest.evaluate(async () => {
        const request = indexedDB.open('spawn', 1);
        const db = await new Promise((resolve) => {
          request.onsuccess = () => resolve(request.result);
        });
        const all = db.transaction('pairing').objectStore('pairing').getAll();
        const records = await new Promise((resolve) => {
          all.onsuccess = () => resolve(all.result);
        });
        const extractable = records.map(({ key }) => key.extractable);
        // The browser names the page's own navigation by its whole address; only this page can read that.
        const timings = performance
          .getEntries()
          .filter((entry) => entry.entryType !== 'navigation');
        return JSON.stringify([
          timings,
          location.href,
          history.state,
          { ...localStorage },
          { ...sessionStorage },
          records,
          extractable,
          document.documentElement.outerHTML,
        ]);
      });
      assert.ok(kept.includes('[false]'), 'the key cannot be read out');
      assert.ok(said.some((frame) => frame.includes('"type":"visit"')));
      for (const words of [...said, kept, spawnd.log]) {
        if (words !== link) assert.ok(!words.includes(secret), words.slice(0, 300));
      }
    });
    for (const folder of ['config', 'state', 'run']) {
      const entries = await readdir(join(spawnd.root, folder), {
        recursive: true,
        withFileTypes: true,
      });
      for (const entry of entries.filter((one) => one.isFile())) {
        const file = join(entry.parentPath ?? entry.path, entry.name);
        assert.ok(!(await readFile(file, 'latin1')).includes(secret), file);
      }
    }
    assert.equal(await active(page), first);
  }),
);

test(
  'a visitor who may type asks for control, gets it, and never sizes the terminal',
  { skip },
  owner(async (page, first) => {
    const size = await sizeOf(page, first);
    const link = await makeLink(page, 'write');
    await visitor(link, async (guest) => {
      await untilLive(guest);
      await guest.getByText(/Visitor, you may watch, and type when you control, until/).waitFor();
      await guest.keyboard.type('too early');
      await guest.getByRole('button', { name: 'Ask for control' }).click();
      await page.getByText('Visitor (code review) asks for control.').waitFor();
      await screenshot(page, 'visitor-asks');
      await page.getByRole('button', { name: 'Allow' }).click();
      const controls = () => window.spawn.state().panes[0].control === 'you';
      await until(guest, controls);
      await guest.locator('.screen:not([hidden])').click();
      await typeLine(guest, 'echo typed-by-a-visitor');
      await untilScreen(page, /^typed-by-a-visitor$/);
      await guest.setViewportSize({ width: 800, height: 600 });
      await typeLine(guest, 'echo cols-$(tput cols)');
      await untilScreen(page, new RegExp(`^cols-${size.split('x')[0]}$`));
      assert.equal(await sizeOf(page, first), size);
      assert.ok(!(await text(page)).includes('too early'));
      await screenshot(guest, 'visitor-typing');
      await assertAccessible(guest, 'visitor who types');
      await page.getByRole('button', { name: 'Take over' }).click();
      await until(guest, () => window.spawn.state().panes[0].control !== 'you');
    });
  }),
);

test(
  'a link of a session on a phone, whose time runs out',
  { skip },
  owner(async (_page, first, second) => {
    const { sessions } = JSON.parse(await spawnctl('session', 'list', '--json'));
    const args = ['--resource', `session:${sessions[0].session}`, '--seconds', '12'];
    await visitor(
      () => spawnctl('share', 'create', ...args),
      async (guest) => {
        await untilLive(guest);
        await until(guest, () => window.spawn.state().panes.length === 2);
        assert.deepEqual(
          await guest.evaluate(() => window.spawn.state().panes.map(({ id }) => id)),
          [first, second],
        );
        await screenshot(guest, 'visitor-phone');
        assert.equal(await guest.getByRole('region', { name: 'Terminal keys' }).count(), 0);
        assert.equal(await sidewaysOverflow(guest), 0);
        await guest.getByRole('heading', { name: 'This visit is over' }).waitFor();
        assert.equal(await guest.locator('.cell').count(), 0);
      },
      phone,
    );
  }),
);

test(
  'a visit ends with the spawnd that made the link, and a person may leave before',
  { skip },
  owner(async (page, first) => {
    const link = await spawnctl('share', 'create', '--resource', `pane:${first}`);
    await visitor(link, async (guest) => {
      await untilLive(guest);
      await guest.getByRole('button', { name: 'Leave' }).click();
      await guest.getByRole('heading', { name: 'Pair this browser' }).waitFor();
      await guest.goto(link); // the same document: its address alone has changed
      await untilLive(guest);
      await spawnd.kill();
      await spawnd.start();
      await guest.getByRole('heading', { name: 'This visit is over' }).waitFor();
      await guest.reload();
      await guest.getByRole('heading', { name: 'Pair this browser' }).waitFor();
    });
    await untilLive(page);
  }),
);

test(
  'a browser that is revoked is closed out at once, says so, and cannot come back with its key',
  { skip },
  owner(async (page) => {
    await visit(spawnd, await spawnd.freshUrl(), {}, async (lost) => {
      await untilLive(lost);
      const { devices } = JSON.parse(await spawnctl('device', 'list', '--json'));
      const { device } = devices.at(-1);
      await spawnctl('device', 'revoke', '--device', device);
      await lost.getByRole('heading', { name: 'This browser was unpaired' }).waitFor();
      assert.equal(await lost.locator('.cell').count(), 0, 'nothing of the terminals is left');
      await assertAccessible(lost, 'unpaired');
      await screenshot(lost, 'unpaired-while-open');
      await lost.reload();
      await lost.getByRole('heading', { name: 'Pair this browser again' }).waitFor();
      assert.equal(await lost.evaluate(() => window.spawn.state().link), 'halted');
      await untilLive(page); // the other one goes on
      await lost.getByLabel('Address with code').fill(await spawnd.freshUrl());
      await lost.getByRole('button', { name: 'Pair', exact: true }).click();
      await untilLive(lost);

      await choose(page, 'Links and browsers');
      const list = page.getByRole('dialog');
      const entry = list
        .getByRole('listitem')
        .filter({ hasText: 'Connected now' })
        .filter({ hasNotText: 'this browser' });
      await entry.getByRole('button', { name: /^Unpair/ }).click();
      await entry.getByRole('button', { name: /^Lock .* out$/ }).click();
      await lost.getByRole('heading', { name: 'This browser was unpaired' }).waitFor();
    });
  }),
);

test(
  'the owner’s forms fit a phone, and are as readable in light',
  { skip },
  owner(async (page, first) => {
    await page.emulateMedia({ colorScheme: 'light' });
    await makeLink(page, 'write');
    await spawnctl('share', 'create', '--resource', `pane:${first}`, '--label', 'x'.repeat(64));
    for (const [look, viewport] of [
      ['light', page.viewportSize()],
      ['phone', phone.viewport],
    ]) {
      await page.setViewportSize(viewport);
      for (const [item, shown] of [
        ['Share terminal', 'Who opens it may'],
        ['Links and browsers', 'x'.repeat(64)],
        ['Keys and help', 'Next / previous terminal'],
      ]) {
        await choose(page, item);
        const form = page.getByRole('dialog');
        await form.getByText(shown).waitFor();
        assert.equal(await sidewaysOverflow(page), 0);
        const [wide, room] = await form.evaluate((at) => [at.scrollWidth, at.clientWidth]);
        assert.ok(wide <= room, `${item}: ${wide} in ${room} pixels`);
        await assertAccessible(page, `${item}, ${look}`);
        await screenshot(page, `${item.replaceAll(' ', '-').toLowerCase()}-${look}`);
        await page.keyboard.press('Escape');
        await form.waitFor({ state: 'hidden' });
      }
    }
  }),
);
