// SPDX-License-Identifier: Apache-2.0

// Floats against a real spawnd: drawn where the arrangement says, over the splits
// and in their order, moved while one looks, reached by key and on a phone.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { phone, screenshot, typeLine, until, untilLive, untilScreen } from './browser.mjs';
import { drive, knownShell, visit } from './person.mjs';
import { binary, Spawnd, skip } from './spawnd.mjs';

const run = promisify(execFile);
let spawnd;

before(async () => {
  if (!skip) spawnd = await Spawnd.create();
});

after(() => spawnd?.destroy());

const spawnctl = (...args) => run(binary, args, { env: spawnd.env });

const place = (pane, float) =>
  spawnctl('pane', 'place', '--pane', pane, '--float', JSON.stringify(float));

const seen = (page, ids) =>
  until(page, (want) => window.spawn.state().seen.join() === want, ids.join());

/** Waits until the terminal has so many cells, and no more. */
const sized = (page, id, cols, rows) =>
  until(
    page,
    ([pane, c, r]) => {
      const at = window.spawn.state().panes.find((p) => p.id === pane);
      return at.cols === c && at.rows === r;
    },
    [id, cols, rows],
  );

const float = (page, name) => page.locator('.cell.float', { hasText: name });

/** The ids of floats, as the eye has them: from the back to the front. */
const stacked = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('.cell.float:not([hidden])')]
      .sort((a, b) => Number(a.style.zIndex) - Number(b.style.zIndex))
      .map((cell) => cell.querySelector('.head').textContent),
  );

/** Waits until the host has the window so. */
async function untilWindow(check) {
  for (let tries = 0; tries < 200; tries++) {
    const { windows } = JSON.parse((await spawnctl('window', 'list', '--json')).stdout);
    if (check(windows[0])) return;
  }
  assert.fail(`the window never became so: ${check}`);
}

test('floats lie over the splits where they were put, and follow', { skip }, () =>
  visit(spawnd, spawnd.url, {}, async (page) => {
    await knownShell(page);
    for (const axis of ['cols', 'rows', 'cols']) {
      await spawnctl('pane', 'split', '--pane', 'p0', '--axis', axis, '--', 'sh');
    }
    await seen(page, ['p0', 'p3', 'p2', 'p1']);
    const log = { width: '40', height: '10', title: 'build log', border: 'double' };
    await place('p2', { ...log, anchor: 'bottom_right', x: -2, y: -1 });
    await place('p3', { width: '50%', height: '40%', title: 'notes', border: 'rounded' });
    await seen(page, ['p0', 'p1', 'p2', 'p3']);
    await sized(page, 'p2', 40, 10);
    assert.deepEqual(await stacked(page), ['build log', 'notes']);
    const stage = await page.locator('#stage').boundingBox();
    const right = ({ x, width }) => stage.x + stage.width - x - width;
    const box = await float(page, 'build log').boundingBox();
    assert.ok(right(box) > 10 && right(box) < 22, `two cells from the right: ${right(box)}`);
    const middle = await float(page, 'notes').boundingBox();
    const off = middle.x + middle.width / 2 - stage.x - stage.width / 2;
    assert.ok(Math.abs(off) <= 1, `in the middle, but for ${off}`);
    await screenshot(page, 'floats');

    // It is moved while one looks, and has other cells then.
    await place('p2', { ...log, width: '30', anchor: 'top_left', border: 'heavy' });
    await sized(page, 'p2', 30, 10);
    const moved = await float(page, 'build log').boundingBox();
    assert.deepEqual([moved.x, moved.y], [stage.x, stage.y]);

    // Reached by key: it has the keys, and is in front.
    for (const id of ['p1', 'p2']) {
      await page.keyboard.press('Control+Shift+J');
      await until(page, (want) => window.spawn.state().active === want, id);
    }
    assert.deepEqual(await stacked(page), ['notes', 'build log']);
    await untilWindow(({ active, floats }) => active === 'p2' && floats[1].pane === 'p2');
    await drive(page);
    await typeLine(page, "PS1='float$ '; tput cols");
    await untilScreen(page, /^30$/);

    // Somebody else turns to the other float: the keys stay here, and what is raised shows when they leave.
    await spawnctl('pane', 'focus', '--pane', 'p3');
    await untilWindow(({ floats }) => floats[1].pane === 'p3');
    await page.keyboard.type('x');
    await untilScreen(page, /^float\$ x$/);
    await page.keyboard.press('Control+Shift+K');
    await until(page, () => window.spawn.state().active === 'p1');
    assert.deepEqual(await stacked(page), ['build log', 'notes']);

    // The title is what a pointer takes it by.
    await float(page, 'notes').locator('.head').click();
    await until(page, () => window.spawn.state().active === 'p3');
    await screenshot(page, 'floats-moved');

    // It is carried by it, and lies there for everybody.
    const grip = await float(page, 'notes').locator('.head').boundingBox();
    await page.mouse.move(grip.x + 40, grip.y + 10);
    await page.mouse.down();
    await page.mouse.move(grip.x + 40 - 160, grip.y + 10 + 100, { steps: 4 });
    await page.mouse.up();
    await untilWindow(({ floats }) =>
      floats.some(({ pane, x, y }) => pane === 'p3' && x < -10 && y > 3),
    );
    const left = (await float(page, 'notes').boundingBox()).x;
    assert.ok(Math.abs(left - grip.x + 160) < 10, `carried to ${left} from ${grip.x}`);
    await page.keyboard.type('k'); // and the keys stay in it
    await untilScreen(page, /^# k$/);
    await screenshot(page, 'floats-carried');

    // Without a border there is no title, and less around it.
    await place('p3', { width: '20', height: '5', border: 'none', anchor: 'right' });
    await sized(page, 'p3', 20, 5);
    await until(page, () => !document.querySelector('.cell.float.border-none .head')?.offsetHeight);

    // What was a float is a tile again, and what was a tile floats.
    await page.keyboard.press('Control+Shift+G');
    await until(page, () => document.querySelectorAll('.cell.float:not([hidden])').length === 1);
    await page.keyboard.press('Control+Shift+G');
    await until(page, () => document.querySelectorAll('.cell.float:not([hidden])').length === 2);
    await page.keyboard.press('Control+Shift+G');
    await until(page, () => document.querySelectorAll('.cell.float:not([hidden])').length === 1);
    await screenshot(page, 'floats-tiled');
  }),
);

test('on a phone a float fills the screen, and is one tap away', { skip }, async () =>
  visit(spawnd, await spawnd.freshUrl(), phone, async (page) => {
    await untilLive(page);
    assert.equal(await page.evaluate(() => window.spawn.state().active), 'p3', 'as it was left');
    await page.getByRole('navigation').getByRole('button', { name: 'build log' }).tap();
    await until(page, () => window.spawn.state().seen.join() === 'p2');
    await untilLive(page);
    assert.equal(await page.locator('.cell.float:not([hidden])').count(), 0);
    const [cell, stage] = await Promise.all(
      ['.cell:not([hidden])', '#stage'].map((at) => page.locator(at).boundingBox()),
    );
    assert.deepEqual(cell, stage);
    await screenshot(page, 'floats-phone');
  }),
);
