// SPDX-License-Identifier: Apache-2.0

// The promise itself, in a real browser against a real spawnd: terminals
// outlive it, and the page comes back by itself with every line once.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
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
import { Spawnd, skip, without } from './spawnd.mjs';

let spawnd;

before(async () => {
  if (!skip) spawnd = await Spawnd.create();
});

after(() => spawnd?.destroy());

const withPage = (url, options, work) => visit(spawnd, url, options, work);

/** A fresh address with an unused code, as a paired page gives it. */
async function anotherLink(page) {
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('menuitem', { name: 'Pair another browser' }).click();
  const url = await page.getByRole('textbox', { name: 'Address' }).inputValue();
  await page.getByRole('button', { name: 'Done' }).click();
  return url;
}

/** History and screen as lines. */
async function lines(page) {
  const text = await page.evaluate(() => window.spawn.historyText() + window.spawn.screenText());
  return text.split('\n').map((line) => line.trimEnd());
}

const upTo = (n, prefix = '') => Array.from({ length: n }, (_, i) => `${prefix}${i + 1}`);

test(
  'spawnd is killed in the middle of a build: every line once, in order, without a reload',
  { skip },
  () =>
    withPage(spawnd.url, {}, async (page) => {
      await untilLive(page);
      assert.equal(await page.evaluate(() => location.hash), '', 'the code left the address bar');
      await page.evaluate(() => {
        window.neverReloaded = true;
      });
      await knownShell(page);
      await typeLine(page, 'seq 1 5000');
      await untilScreen(page, /^5000$/);
      await typeLine(page, 'for i in $(seq 1 400); do echo line-$i; sleep 0.01; done');
      await untilScreen(page, /^line-9\d$/);
      await spawnd.kill();
      await until(page, () => window.spawn.state().link !== 'up');
      await page.keyboard.type('x');
      await page.getByText('Keys are not sent').waitFor();
      await screenshot(page, 'killed');
      const restarted = performance.now();
      await spawnd.start();
      await untilLive(page);
      console.log(
        `# live again ${Math.round(performance.now() - restarted)} ms after the new spawnd was started`,
      );
      await untilScreen(page, /^line-400$/);
      await untilScreen(page, /^ready\$$/);
      const all = await lines(page);
      assert.deepEqual(
        all.filter((line) => /^\d+$/.test(line)),
        upTo(5000),
      );
      assert.deepEqual(
        all.filter((line) => /^line-\d+$/.test(line)),
        upTo(400, 'line-'),
      );
      await typeLine(page, 'echo keyboard-$((40 + 2))');
      await untilScreen(page, /^keyboard-42$/);
      assert.equal(await page.evaluate(() => window.neverReloaded), true);
      await screenshot(page, 'came-back');
    }),
);

test(
  'a worker is killed: only its terminal ends, and nobody calls it success',
  { skip },
  async () =>
    withPage(await spawnd.freshUrl(), {}, async (page) => {
      await untilLive(page);
      const before = new Set((await spawnd.workers()).keys());
      await newTerminal(page);
      await typeLine(page, 'echo doomed');
      await untilScreen(page, /^doomed$/);
      const [[, pid]] = [...(await spawnd.workers())].filter(([id]) => !before.has(id));
      process.kill(pid, 'SIGKILL');
      await page.getByText('Ended, status unknown').waitFor();
      assert.match(
        await page.evaluate(() => window.spawn.screenText()),
        /^doomed$/m,
        'the last screen stays',
      );
      const pane = await page.evaluate(() => window.spawn.state().panes[1]);
      assert.equal(pane.state, 'lost');
      assert.equal(pane.exitCode, null);
      await screenshot(page, 'lost');
      await page.getByRole('tab').first().click();
      await drive(page); // the browser of before may hold it still
      await typeLine(page, 'echo unharmed');
      await untilScreen(page, /^unharmed$/);
      await page.getByRole('tab').nth(1).click();
      await page.getByRole('button', { name: 'Close', exact: true }).click();
      await until(page, () => window.spawn.state().panes.length === 1);
    }),
);

test('a program that is restarted is shown in the same tab, and takes keys', { skip }, async () =>
  withPage(await spawnd.freshUrl(), {}, async (page) => {
    await knownShell(page);
    await typeLine(page, 'echo before');
    await untilScreen(page, /^before$/);
    const pane = await page.evaluate(() => window.spawn.state().active);
    await spawnd.cli('pane', 'restart', '--pane', pane, '--', 'bash', '--noprofile', '--norc');
    await until(page, () => !/^before$/m.test(window.spawn.screenText()));
    await untilLive(page);
    await knownShell(page);
    await typeLine(page, 'echo after');
    await untilScreen(page, /^after$/);
    const after = await page.evaluate(() => window.spawn.state());
    assert.equal(after.active, pane);
    assert.equal(after.panes.find(({ id }) => id === pane).state, 'running');
  }),
);

const vim = ['/usr/bin/vim', '/usr/local/bin/vim'].some(existsSync);

test(
  'vim goes on through a reload of the page',
  { skip: skip || without(vim, 'vim is not installed') },
  async () =>
    withPage(await spawnd.freshUrl(), {}, async (page) => {
      await knownShell(page);
      const file = join(spawnd.home, 'note.txt');
      await typeLine(page, `clear; vim -u NONE -N ${file}`);
      await untilScreen(page, /^~$/);
      await page.keyboard.type('ivim is here');
      await untilScreen(page, /^vim is here$/);
      await page.reload();
      await untilLive(page);
      await untilScreen(page, /^vim is here$/);
      await drive(page);
      await screenshot(page, 'vim-reloaded');
      await page.keyboard.type(' still');
      await untilScreen(page, /^vim is here still$/);
      await page.keyboard.press('Escape');
      await typeLine(page, ':wq');
      await untilScreen(page, /^ready\$$/);
      assert.equal(await readFile(file, 'utf8'), 'vim is here still\n');
      assert.doesNotMatch(await page.evaluate(() => window.spawn.historyText()), /vim is here/);
    }),
);

const monitors = ['htop', 'top'];
const monitor = monitors.find((name) =>
  ['/usr/bin', '/usr/local/bin'].some((folder) => existsSync(join(folder, name))),
);

test(
  'a process monitor goes on through a reload of the page',
  { skip: skip || without(monitor, 'neither htop nor top is installed') },
  async () =>
    withPage(await spawnd.freshUrl(), {}, async (page) => {
      await knownShell(page);
      await typeLine(page, `clear; ${monitor}`);
      await untilScreen(page, /PID +USER/);
      await page.reload();
      await untilLive(page);
      await untilScreen(page, /PID +USER/);
      await drive(page);
      await screenshot(page, `${monitor}-reloaded`);
      await page.keyboard.type('q');
      await untilScreen(page, /^ready\$$/);
      assert.doesNotMatch(await page.evaluate(() => window.spawn.historyText()), /PID +USER/);
    }),
);

test('characters that arrive in parts are whole on the screen', { skip }, async () =>
  withPage(await spawnd.freshUrl(), {}, async (page) => {
    await drive(page);
    const go = join(spawnd.home, 'rest');
    execFileSync('mkfifo', [go]);
    // The rest of each is written when the page has what came before it, and after a repaint.
    const parts = String.raw`clear; printf 'one \xe2\x80'; read < ${go}; printf '\x94 two \xf0\x90\x80'; sleep 0.3; printf '\x80 three\n'`;
    await typeLine(page, parts);
    await untilScreen(page, /^one$/);
    await page.reload();
    await untilLive(page);
    await untilScreen(page, /^one$/);
    await writeFile(go, '');
    await untilScreen(page, /^one — two \u{10000} three$/u);
    await drive(page);
  }),
);

test('two browsers: one controls, the other watches, asks, and takes over', { skip }, async () =>
  withPage(await spawnd.freshUrl(), {}, async (first) => {
    await untilLive(first);
    await drive(first);
    const url = await anotherLink(first);
    await withPage(url, { viewport: { width: 760, height: 620 } }, async (second) => {
      await untilLive(second);
      const size = (page) =>
        page.evaluate(() => window.spawn.state().panes.map((p) => [p.cols, p.rows])[0]);
      const control = (page) => page.evaluate(() => window.spawn.state().panes[0].control);
      assert.deepEqual(
        await size(second),
        await size(first),
        'a watcher has the controller’s size',
      );
      assert.notEqual(await control(second), 'you');
      await second.keyboard.type('refused');
      await second.getByText('keys are not sent').waitFor();
      await typeLine(first, 'echo from-first');
      await untilScreen(second, /^from-first$/);
      await screenshot(second, 'watching');
      await second.getByRole('button', { name: 'Ask for control' }).click();
      await first.getByRole('button', { name: 'Allow' }).waitFor();
      await screenshot(first, 'asked');
      const wide = await size(first);
      await first.getByRole('button', { name: 'Allow' }).click();
      await until(second, () => window.spawn.state().panes[0].control === 'you');
      await until(second, (w) => window.spawn.state().panes[0].cols < w, wide[0]);
      await until(first, (w) => window.spawn.state().panes[0].cols < w, wide[0]);
      assert.deepEqual(await size(second), await size(first));
      await typeLine(second, 'echo from-second');
      await untilScreen(first, /^from-second$/);
      await typeLine(
        second,
        `IFS= read -rsd c -t 2 -p $'\\e[c' a; IFS= read -rsn 1 -t 1 b; printf '<%q|%q>\\n' "$a" "$b"`,
      );
      await untilScreen(second, /^<\$'\\E\[\?1;2'\|''>$/);
      await screenshot(first, 'side-by-side-first');
      await screenshot(second, 'side-by-side-second');
      await first.getByRole('button', { name: 'Take over' }).click();
      await until(first, () => window.spawn.state().panes[0].control === 'you');
      await until(first, (w) => window.spawn.state().panes[0].cols === w, wide[0]);
      await typeLine(first, 'echo back-again');
      await untilScreen(second, /^back-again$/);
      const texts = await Promise.all(
        [first, second].map((page) => page.evaluate(() => window.spawn.screenText())),
      );
      assert.doesNotMatch(texts[0], /refused/);
    });
  }),
);

test('a phone: a terminal that fits, its keys, its scrollback', { skip }, async () =>
  withPage(await spawnd.freshUrl(), phone, async (page) => {
    await untilLive(page);
    await drive(page);
    await until(page, () => window.spawn.state().panes[0].cols < 60);
    await typeLine(page, 'clear; seq 1 300');
    await untilScreen(page, /^300$/);
    await page.keyboard.type('sleep 100');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'ctrl, for the next key' }).tap();
    await page.keyboard.type('c');
    await untilScreen(page, /\^C\nready\$$/);
    await page.getByRole('button', { name: 'Up', exact: true }).tap();
    await untilScreen(page, /^ready\$ sleep 100$/);
    assert.ok((await sidewaysOverflow(page)) <= 0, 'nothing sticks out sideways');
    await screenshot(page, 'phone-live');
    await page.getByRole('button', { name: 'Scrollback' }).tap();
    await until(page, () => window.spawn.state().panes[0].scrollback);
    await screenshot(page, 'phone-live-scrollback');
  }),
);
