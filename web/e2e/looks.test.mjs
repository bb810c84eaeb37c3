// SPDX-License-Identifier: Apache-2.0

// The page over a pretended host: layout, policy, prompts, at a desk and on a phone.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { assertAccessible } from './axe.mjs';
import {
  openBrowser,
  outputDir,
  phone,
  screenshot,
  sidewaysOverflow,
  typeLine,
  until,
  untilLive,
  untilScreen,
} from './browser.mjs';
import { serveFolder } from './static.mjs';

let site;

before(async () => {
  const web = fileURLToPath(new URL('..', import.meta.url));
  execFileSync('npx', ['vite', 'build', '-c', 'vite.fake.config.ts', '--logLevel', 'error'], {
    cwd: web,
  });
  site = await serveFolder(`${outputDir}fake`);
});

after(() => site.close());

async function withPage(options, query, work) {
  const browser = await openBrowser(options);
  try {
    await browser.page.goto(site.url + query);
    await work(browser.page);
    assert.deepEqual(browser.problems, [], 'no error, and nothing refused by the policy');
  } finally {
    await browser.close();
  }
}

test('a terminal at a desk, its scrollback and its prompts', () =>
  withPage({}, '', async (page) => {
    await untilLive(page);
    await typeLine(page, 'colours');
    await untilScreen(page, /a marked link/);
    await screenshot(page, 'desk-colours');
    await typeLine(page, 'seq 1 400');
    await untilScreen(page, /^400$/);
    const history = await page.evaluate(() => window.spawn.historyText());
    assert.match(history, /^1$/m);
    await page.mouse.move(500, 300);
    await page.mouse.wheel(0, -1200);
    await until(page, () => window.spawn.state().panes[0].scrollback);
    await screenshot(page, 'desk-scrollback');
    await page.keyboard.type('x');
    await until(page, () => !window.spawn.state().panes[0].scrollback);
    await untilScreen(page, /\$ x$/);
    await page.evaluate(() => {
      const [pane] = window.fakeHost.panes;
      window.fakeHost.control(pane, true, 'This window', {
        viewer: '2',
        name: 'Chromium on Android',
      });
    });
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    await screenshot(page, 'desk-request');
    await page.keyboard.press('Control+Shift+H');
    await page.getByRole('dialog').waitFor();
    await screenshot(page, 'desk-help');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Menu' }).click();
    await screenshot(page, 'desk-menu');
  }));

test('watching, losing the host, and how terminals end', () =>
  withPage({}, '', async (page) => {
    await untilLive(page);
    await page.evaluate(() => {
      const [pane] = window.fakeHost.panes;
      window.fakeHost.control(pane, false, 'Firefox on Linux');
      pane.term.resize(150, 60);
      pane.snapshot(false);
    });
    await page.getByRole('button', { name: 'Take over' }).waitFor();
    await page.keyboard.type('ls');
    await page.getByRole('alert').waitFor();
    await screenshot(page, 'desk-watching');
    await page.getByRole('button', { name: 'Take over' }).click();
    await until(page, () => window.spawn.state().panes[0].control === 'you');
    await until(page, () => window.spawn.state().panes[0].cols !== 150);
    await typeLine(page, 'exit 3');
    await page.getByText('Ended with exit code 3').waitFor();
    await screenshot(page, 'desk-exited');
    await page.getByRole('tab').nth(1).click();
    await untilLive(page);
    await typeLine(page, 'die');
    await page.getByText('Ended, status unknown').waitFor();
    await screenshot(page, 'desk-lost');
    const ended = await page.evaluate(() => window.spawn.state().active);
    await page.keyboard.press('Control+Shift+Enter');
    await until(page, (id) => window.spawn.state().active !== id, ended);
    await untilLive(page);
    await page.evaluate(async () => {
      const { fakeHost } = window;
      fakeHost.failure = Object.assign(new Error('gone'), { failure: 'unreachable', final: false });
      fakeHost.drop();
    });
    await page.keyboard.type('lost');
    await page.getByText('Not connected. Keys are not sent.').waitFor();
    await screenshot(page, 'desk-reconnecting');
    await page.evaluate(() => {
      window.fakeHost.failure = null;
    });
    await untilLive(page);
  }));

test('a phone: no sideways scroll, keys at hand, control for the next key', () =>
  withPage(phone, '', async (page) => {
    await untilLive(page);
    await page.getByRole('region', { name: 'Terminal keys' }).waitFor();
    await page.locator('.screen:not([hidden])').tap();
    await typeLine(page, 'seq 1 200');
    await untilScreen(page, /^200$/);
    await typeLine(page, 'colours');
    await untilScreen(page, /a marked link/);
    assert.ok((await sidewaysOverflow(page)) <= 0);
    await screenshot(page, 'phone');
    await page.getByRole('button', { name: 'Menu' }).tap();
    await screenshot(page, 'phone-menu');
    assert.ok((await sidewaysOverflow(page)) <= 0);
    await page.getByRole('menuitem', { name: 'Scrollback' }).first().tap();
    await until(page, () => window.spawn.state().panes[0].scrollback);
    await screenshot(page, 'phone-scrollback');
    await page.getByRole('button', { name: /to live/ }).tap();
    await page.evaluate(() => {
      const [pane] = window.fakeHost.panes;
      window.fakeHost.control(pane, false, 'Chromium on Linux');
      pane.term.resize(120, 40);
      pane.snapshot(false);
    });
    await page.getByRole('button', { name: 'Take over' }).waitFor();
    assert.ok((await sidewaysOverflow(page)) <= 0);
    await screenshot(page, 'phone-watching');
  }));

test('a browser that is not paired, and a host that is another', async () => {
  await withPage({}, '?failure=unpaired', async (page) => {
    await page.getByRole('heading', { name: 'Pair this browser' }).waitFor();
    await screenshot(page, 'desk-unpaired');
  });
  await withPage({ ...phone, colorScheme: 'light' }, '?failure=identity_changed', async (page) => {
    await page.getByRole('heading', { name: /not the host/ }).waitFor();
    await screenshot(page, 'phone-identity');
  });
});

test('a light desk', () =>
  withPage({ colorScheme: 'light' }, '', async (page) => {
    await untilLive(page);
    await typeLine(page, 'colours');
    await untilScreen(page, /a marked link/);
    await screenshot(page, 'desk-light');
  }));

test('what is left after the host was off: checkpoints, records, one relaunch', () =>
  withPage({}, '?records=dwindled', async (page) => {
    await page.getByRole('heading', { name: 'What was here before' }).waitFor();
    await page.getByText('1 session, 2 windows, 3 terminals; the text of 2 of them').waitFor();
    const first = page.locator('.checkpoint').first();
    await first.getByText('5 minutes ago').waitFor();
    await first.getByText('Start with this one: the newer one looks like').waitFor();
    await first.locator('.outline').getByText('exited with 3; its text was kept').waitFor();
    await first.locator('.outline').getByText('float “log”').waitFor();
    assert.equal(await first.locator('.outline .drawing rect').count(), 2);
    const remnant = page.locator('.checkpoint').nth(1);
    assert.equal(await remnant.locator('.outline li').count(), 0, 'told when it is asked for');
    await remnant.getByText('What would come back').click();
    await remnant.locator('.outline').getByText('work 1').waitFor();
    await screenshot(page, 'desk-checkpoints');
    await page.getByRole('button', { name: 'Restore Checkpoint 12' }).click();
    await page
      .locator('.strip')
      .getByText('Record of build; it was interrupted, and may run still')
      .waitFor();
    await untilScreen(page, /make -j2 test/);
    await page.keyboard.type('x');
    await page.getByRole('alert').getByText('This is a record').waitFor();
    await screenshot(page, 'desk-record');
    await page.getByRole('tab').nth(1).click();
    await page.locator('.strip').getByText('it had exited with 3').waitFor();
    await page.getByRole('tab').first().click();
    await page.getByRole('button', { name: 'Relaunch…' }).click();
    const start = page.getByRole('button', { name: 'Start' });
    assert.ok(await start.isDisabled(), 'not without the acknowledgement');
    const line = page.getByRole('textbox', { name: 'Command line' });
    await line.fill('/bin/false');
    await page.getByRole('checkbox').check();
    await start.click();
    await page.getByText('The command could not be started.').waitFor();
    await line.fill(`env 'A=b c' bash -l`);
    await page.locator('.argv').getByText('A=b c').waitFor();
    await screenshot(page, 'desk-relaunch');
    await start.click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await until(page, () => window.spawn.state().active === 'p3');
    await untilLive(page);
    await typeLine(page, 'seq 1 3');
    await untilScreen(page, /^3$/);
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('menuitem', { name: 'Checkpoints' }).click();
    await page.getByText('They can be restored while there is no terminal.').waitFor();
    assert.ok(await page.getByRole('button', { name: 'Restore Checkpoint 12' }).isDisabled());
    await page.getByRole('button', { name: 'Delete A checkpoint…' }).click();
    await page.getByRole('button', { name: 'Delete a checkpoint', exact: true }).click();
    await until(page, () => document.querySelectorAll('.checkpoint').length === 4);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.keyboard.type('back');
    await untilScreen(page, /\$ back$/);
  }));

test('checkpoints and records on a phone', () =>
  withPage({ ...phone, colorScheme: 'light' }, '?records', async (page) => {
    await page.getByRole('heading', { name: 'What was here before' }).waitFor();
    await page.locator('.outline .window').first().waitFor();
    assert.ok((await sidewaysOverflow(page)) <= 0);
    await screenshot(page, 'phone-checkpoints');
    await page.getByRole('button', { name: 'Restore Checkpoint 12' }).tap();
    await page.locator('.strip').getByText('Record of build').waitFor();
    assert.ok((await sidewaysOverflow(page)) <= 0);
    // Nothing runs in a record that could take keys.
    await untilScreen(page, /make -j2 test/);
    assert.equal(await page.getByRole('region', { name: 'Terminal keys' }).count(), 0);
    await screenshot(page, 'phone-record');
  }));

test('a window of several terminals: split, drag, zoom, float, close', () =>
  withPage({}, '?windows', async (page) => {
    await untilLive(page);
    await page.keyboard.press('Control+Shift+E');
    await until(page, () => window.spawn.state().seen.join() === 'p0,p2');
    await untilLive(page);
    await typeLine(page, 'colours');
    await untilScreen(page, /a marked link/);
    await page.keyboard.press('Control+Shift+O');
    await until(page, () => window.spawn.state().seen.join() === 'p0,p2,p3');
    await untilLive(page);
    await typeLine(page, 'seq 1 3');
    await untilScreen(page, /^3$/);
    const cols = () => page.evaluate(() => window.spawn.state().panes[0].cols);
    const before = await cols();
    const line = page.getByRole('separator').first();
    const box = await line.boundingBox();
    await page.mouse.move(box.x + 4, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + 204, box.y + 100, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction((was) => window.spawn.state().panes[0].cols > was + 10, before);
    await line.focus();
    await page.keyboard.press('ArrowLeft');
    const ratio = await page.evaluate(() => window.fakeHost.windows.windows[0].nodes[0].ratio);
    assert.ok(ratio > 6000 && ratio < 7000, `ratio ${ratio}`);
    await page.locator('.cell').first().click();
    await until(page, () => window.spawn.state().active === 'p0');
    await page.keyboard.type('here');
    await untilScreen(page, /\$ here$/);
    await page.evaluate(() => {
      const { fakeHost } = window;
      const made = fakeHost.make(80, 24, 'scratch', { window: 'w0' });
      fakeHost.windows.float('w0', made.info.id);
      fakeHost.tell(made);
      fakeHost.emit({ event: 'arranged' });
    });
    await until(page, () => window.spawn.state().seen.includes('p4'));
    await screenshot(page, 'desk-splits');
    assert.equal(await page.evaluate(() => window.spawn.state().active), 'p0', 'the focus stays');
    await page.keyboard.press('Control+Shift+Z');
    await until(page, () => window.spawn.state().seen.join() === 'p0,p4');
    await page.keyboard.press('Control+Shift+Z');
    await until(page, () => window.spawn.state().seen.length === 4);
    await page.keyboard.type(' again');
    await untilScreen(page, /\$ here again$/);
    await page.keyboard.press('Control+Shift+X');
    await page.getByRole('button', { name: 'End and close' }).click();
    await until(page, () => window.spawn.state().panes.every((pane) => pane.id !== 'p0'));
    await until(page, () => window.spawn.state().seen.join() === 'p2,p3,p4');
    await page.keyboard.type('on');
    await untilScreen(page, /on$/);
    await page.evaluate(() => {
      const { fakeHost } = window;
      fakeHost.windows.sessions.push({ session: 's1', name: 'play', windows: ['w1'] });
      fakeHost.windows.windows[1].session = 's1';
      fakeHost.emit({ event: 'arranged' });
    });
    await page.locator('.tabs .session').getByText('play').waitFor();
    await assertAccessible(page, 'splits');
    await screenshot(page, 'desk-sessions');
  }));

test('a phone shows one terminal of a window, and the others to switch to', () =>
  withPage(phone, '?windows', async (page) => {
    await untilLive(page);
    await page.getByRole('button', { name: 'Menu' }).tap();
    await page.getByRole('menuitem', { name: 'Split right' }).tap();
    await until(page, () => window.spawn.state().seen.join() === 'p2');
    await untilLive(page);
    await screenshot(page, 'phone-switcher');
    assert.ok((await sidewaysOverflow(page)) <= 0);
    const others = page.getByRole('navigation', { name: 'Terminals of this window' });
    await others.getByRole('button').first().tap();
    await until(page, () => window.spawn.state().seen.join() === 'p0');
    await untilLive(page);
    await assertAccessible(page, 'a phone’s switcher');
  }));

test('axe finds nothing, in dark and in light', () =>
  withPage({}, '', async (page) => {
    for (const colorScheme of ['dark', 'light']) {
      const check = (state) => assertAccessible(page, `${state}, ${colorScheme}`);
      await page.emulateMedia({ colorScheme });
      await page.goto(site.url);
      await untilLive(page);
      await check('connected');
      await page.getByRole('button', { name: 'Menu' }).click();
      await page.getByRole('menu').waitFor();
      await check('menu');
      await page.getByRole('menuitem', { name: 'Keys and help' }).click();
      await page.getByRole('dialog').waitFor();
      await check('help');
      await page.keyboard.press('Escape');
      await page.evaluate(() => {
        const [pane] = window.fakeHost.panes;
        window.fakeHost.control(pane, false, 'Firefox on Linux');
      });
      await page.getByRole('button', { name: 'Take over' }).waitFor();
      await check('watching');
      await page.keyboard.press('Control+Shift+F');
      await page.getByRole('search').waitFor();
      await check('searching');
      await page.goto(`${site.url}?failure=unpaired`);
      await page.getByRole('heading', { name: 'Pair this browser' }).waitFor();
      await check('unpaired');
      await page.getByRole('button', { name: 'Pair' }).click();
      await page.getByRole('alert').waitFor();
      await check('a code that is none');
      await page.goto(`${site.url}?records`);
      await page.getByRole('heading', { name: 'What was here before' }).waitFor();
      await page.locator('.outline .window').first().waitFor();
      await check('checkpoints');
      await page.getByRole('button', { name: 'Restore Checkpoint 12' }).click();
      await page.locator('.strip').getByText('Record of build').waitFor();
      await check('a record');
      await page.getByRole('button', { name: 'Relaunch…' }).click();
      await page.getByRole('dialog').waitFor();
      await check('relaunch');
    }
  }));

test('a visitor: what is said, in dark and in light, to a screen reader and on a phone', () =>
  withPage({}, '', async (page) => {
    for (const colorScheme of ['dark', 'light']) {
      const check = (state) => assertAccessible(page, `${state}, ${colorScheme}`);
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width: 1200, height: 760 });
      await page.goto(`${site.url}?visit=read`);
      await untilLive(page);
      await page.getByText(/Visitor, read only, until/).waitFor();
      await page.keyboard.type('x');
      await page.getByRole('alert').getByText('Keys are not sent').waitFor();
      await check('refused key');
      await page.setViewportSize({ width: 390, height: 844 });
      assert.ok((await sidewaysOverflow(page)) <= 0);
      await screenshot(page, `visitor-read-${colorScheme}`);
      await page.goto(`${site.url}?visit=write`);
      await untilLive(page);
      await page.evaluate(() => {
        const [pane] = window.fakeHost.panes;
        window.fakeHost.control(pane, false, 'Firefox on Linux');
      });
      await page.getByRole('button', { name: 'Ask for control' }).waitFor();
      await check('watching with a link that lets type');
      await screenshot(page, `visitor-write-${colorScheme}`);
    }
    for (const [failure, title] of [
      ['identity_changed', 'This is not the host of the link'],
      ['share_ended', 'This link does not work'],
      ['share_full', 'Too many are looking'],
    ]) {
      await page.goto(`${site.url}?visit=read&failure=${failure}`);
      await page.getByRole('heading', { name: title }).waitFor();
      assert.equal(await page.getByLabel('Address with code').count(), 0, failure);
      await assertAccessible(page, failure);
    }
    await page.evaluate(() => {
      window.fakeHost.failure = null; // somebody has left, and the page comes in by itself
    });
    await untilLive(page);
  }));
