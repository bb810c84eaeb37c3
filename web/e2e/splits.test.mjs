// SPDX-License-Identifier: Apache-2.0

// Windows of several terminals against a real spawnd: what one page or a command
// arranges, every page shows, and a restart keeps.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { screenshot, typeLine, until, untilLive, untilScreen } from './browser.mjs';
import { knownShell, newTerminal, visit } from './person.mjs';
import { binary, Spawnd, skip } from './spawnd.mjs';

const run = promisify(execFile);
let spawnd;

before(async () => {
  if (!skip) spawnd = await Spawnd.create();
});

after(() => spawnd?.destroy());

const spawnctl = (...args) => run(binary, args, { env: spawnd.env });

const seen = (page, ids) =>
  until(page, (want) => window.spawn.state().seen.join() === want, ids.join());

/** The width of a pane in its own shell's words. */
async function columnsIn(page, text) {
  await typeLine(page, `echo ${text}-$(tput cols)`);
  await untilScreen(page, new RegExp(`^${text}-\\d+$`));
  const screen = await page.evaluate(() => window.spawn.screenText());
  return Number(new RegExp(`^${text}-(\\d+)$`, 'm').exec(screen)[1]);
}

test('split, type in each, drag the line, zoom, and find it all after a restart', { skip }, () =>
  visit(spawnd, spawnd.url, {}, async (page) => {
    await knownShell(page);
    const wide = await columnsIn(page, 'whole');
    await page.keyboard.press('Control+Shift+E');
    await seen(page, ['p0', 'p1']);
    await untilLive(page);
    assert.equal(await page.evaluate(() => window.spawn.state().active), 'p1');
    await knownShell(page);
    const half = await columnsIn(page, 'half');
    assert.ok(half < wide * 0.55, `${half} of ${wide} columns`);
    await page.locator('.cell').first().click();
    await until(page, () => window.spawn.state().active === 'p0');
    await typeLine(page, 'echo on-the-left');
    await untilScreen(page, /^on-the-left$/);
    const line = page.getByRole('separator');
    const box = await line.boundingBox();
    await page.mouse.move(box.x + 4, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(box.x + 244, box.y + 200, { steps: 4 });
    await page.mouse.up();
    await until(page, (was) => window.spawn.state().panes[1].cols < was - 10, half);
    await page.keyboard.type('x'); // the drag has left the keys where they were
    await untilScreen(page, /^ready\$ x$/);
    await page.keyboard.press('Control+C');
    await spawnctl('pane', 'split', '--pane', 'p1', '--axis', 'rows');
    await seen(page, ['p0', 'p1', 'p2']);
    await screenshot(page, 'splits');
    await page.keyboard.press('Control+Shift+Z');
    await seen(page, ['p0']);
    await spawnd.kill();
    await until(page, () => window.spawn.state().link !== 'up');
    await spawnd.start();
    await untilLive(page);
    await seen(page, ['p0']);
    await page.keyboard.press('Control+Shift+Z');
    await seen(page, ['p0', 'p1', 'p2']);
    await spawnctl('pane', 'close', '--pane', 'p2');
    await seen(page, ['p0', 'p1']);
    await typeLine(page, 'echo still-here');
    await untilScreen(page, /^still-here$/);
  }),
);

test('what one page arranges, another shows', { skip }, async () =>
  visit(spawnd, await spawnd.freshUrl(), {}, async (one) => {
    await untilLive(one);
    const url = await spawnd.freshUrl();
    await visit(spawnd, url, {}, async (two) => {
      await untilLive(two);
      await spawnctl('session', 'new', '--name', 'play');
      await spawnctl('window', 'new', '--session', 's1', '--name', 'second');
      await two.locator('.tabs .session').getByText('play').waitFor();
      await two.getByRole('tab', { name: /second/ }).click();
      await two.keyboard.press('Control+Shift+O');
      await until(two, () => window.spawn.state().seen.length === 2);
      await one.getByRole('tab', { name: /second/ }).click();
      await until(one, () => window.spawn.state().seen.length === 2);
    });
  }),
);

const titled = (page, title) => until(page, (want) => document.title === want, title);

test(
  'a terminal that asks is marked where nobody looks, and the page is called so',
  { skip },
  async () =>
    visit(spawnd, await spawnd.freshUrl(), {}, async (page) => {
      await untilLive(page);
      const before = await page.evaluate(() => window.spawn.state().active);
      const asking = await newTerminal(page);
      await spawnctl('pane', 'rename', '--pane', asking, '--name', 'asking');
      await titled(page, 'asking — spawn');
      // It asks each time that somebody writes into the pipe.
      const pipe = join(spawnd.home, 'pipe');
      await typeLine(page, `mkfifo ${pipe} && echo pipe-$((40 + 2))`);
      await untilScreen(page, /^pipe-42$/);
      await typeLine(page, `while read -r _; do printf '\\e]9;which one?\\a'; done <>${pipe}`);
      const asks = () => writeFile(pipe, 'now\n');
      const tab = page.getByRole('tab', { name: 'asking' });
      const mark = tab.getByTitle('Asks for attention');
      await page.getByRole('tab').first().click();
      await until(page, (id) => window.spawn.state().active === id, before);
      await asks();
      await mark.waitFor();
      assert.match(await page.title(), /^● .* — spawn$/);
      await screenshot(page, 'asks');
      await tab.click();
      await titled(page, 'asking — spawn');
      assert.equal(await mark.count(), 0, 'it was seen');

      // The page lies behind another: what is shown in it is not seen.
      const lies = (hidden) =>
        page.evaluate((value) => {
          Object.defineProperty(document, 'hidden', { value, configurable: true });
          document.dispatchEvent(new Event('visibilitychange'));
        }, hidden);
      await lies(true);
      await asks();
      await titled(page, '● asking — spawn');
      await lies(false);
      await titled(page, 'asking — spawn');

      // A page that has never shown it marks it too.
      await page.getByRole('tab').first().click();
      await until(page, (id) => window.spawn.state().active === id, before);
      await page.reload();
      await untilLive(page);
      await tab.waitFor();
      await asks();
      await mark.waitFor();
      assert.equal(
        await page.evaluate(
          (id) => window.spawn.state().panes.find((pane) => pane.id === id).phase,
          asking,
        ),
        'away',
      );
      await spawnctl('pane', 'close', '--pane', asking);
    }),
);
