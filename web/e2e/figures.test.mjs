// SPDX-License-Identifier: Apache-2.0

// What a person waits for, measured. The times are printed, not asserted: they
// tell of the machine as much as of the page. What is shown is asserted.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { openBrowser, screenshot, typeLine, until, untilScreen } from './browser.mjs';
import { drive, visit } from './person.mjs';
import { Spawnd, skip } from './spawnd.mjs';

const terminals = 20;

let spawnd;

before(async () => {
  if (!skip) spawnd = await Spawnd.create();
});

after(() => spawnd?.destroy());

/** Waits, frame by frame, for `moment` to give the wall clock at which something was so. */
async function momentOf(page, moment) {
  const seen = await page.waitForFunction(moment, undefined, { polling: 'raf', timeout: 60_000 });
  return seen.jsonValue();
}

/** From the navigation's start to the first text on the screen: cold cache, a new device. */
async function loadToPrompt() {
  const browser = await openBrowser();
  try {
    // Installed before the page's own code, so that the page notes the moment itself.
    await browser.page.addInitScript(() => {
      const look = () => {
        if (/\S/.test(window.spawn?.screenText() ?? '')) window.promptAt = performance.now();
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
    await browser.page.goto(await spawnd.freshUrl());
    await until(browser.page, () => window.promptAt > 0);
    return Math.round(await browser.page.evaluate(() => window.promptAt));
  } finally {
    await browser.close();
  }
}

test('a first load with a cold cache comes to a prompt', { skip }, async () => {
  const first = await loadToPrompt();
  const later = [await loadToPrompt(), await loadToPrompt()];
  console.log(
    `# cold load to a prompt: ${first} ms with a new terminal, then ${later.join(', ')} ms`,
  );
});

test('how much script the page is', async () => {
  const assets = fileURLToPath(new URL('../dist/assets/', import.meta.url));
  const scripts = (await readdir(assets)).filter((name) => name.endsWith('.js'));
  let total = 0;
  for (const name of scripts) {
    const size = gzipSync(await readFile(join(assets, name)), { level: 9 }).length;
    total += size;
    console.log(`# ${name}: ${(size / 1000).toFixed(1)} kB gzip`);
  }
  console.log(`# all script: ${(total / 1000).toFixed(1)} kB gzip`);
  assert.ok(scripts.length > 0);
});

test(`${terminals} terminals in one page come back after spawnd is killed`, { skip }, async () =>
  visit(spawnd, await spawnd.freshUrl(), {}, async (page) => {
    await drive(page);
    const file = (name) => join(spawnd.home, name);
    const panes = await openTerminals(page, file);
    await spawnd.kill();
    await until(page, () => window.spawn.state().link !== 'up');
    await writeFile(file('go'), '');
    await untilAllExist(panes.map((_, n) => file(`done-${n}`)));
    const shown = momentOf(page, shownLiveAt);
    const all = momentOf(page, allLiveAt);
    const started = Date.now();
    await spawnd.start();
    const [shownAfter, allAfter] = (await Promise.all([shown, all])).map((at) => at - started);
    console.log(
      `# ${terminals} terminals: visible one live ${shownAfter} ms, all ${allAfter} ms after the start`,
    );
    for (const [n, id] of panes.entries()) await assertWhole(page, id, n);
    await drive(page);
    await typeLine(page, 'echo typed-$((40 + 2))');
    await untilScreen(page, /^typed-42$/);
    await screenshot(page, 'twenty');
  }),
);

const shownLiveAt = () => {
  const s = window.spawn.state();
  return s.link === 'up' && s.panes.find((p) => p.id === s.active)?.phase === 'live' && Date.now();
};

const allLiveAt = () => {
  const s = window.spawn.state();
  return s.link === 'up' && s.panes.every((p) => p.phase === 'live') && Date.now();
};

/** Each prints its own lines now, and one more as soon as somebody opens the pipe `go` to write. */
async function openTerminals(page, file) {
  execFileSync('mkfifo', [file('go')]);
  await writeFile(
    file('t'),
    `clear; for i in {1..60}; do echo early-$1-$i; done
read < ${file('go')}; echo late-$1; touch ${file('done-')}$1\n`,
  );
  const panes = [];
  for (let n = 0; n < terminals; n++) {
    if (n > 0) await page.keyboard.press('Control+Shift+Enter');
    await until(page, isDrivenAndNew, panes, 60_000);
    panes.push(await page.evaluate(() => window.spawn.state().active));
    await typeLine(page, `. ${file('t')} ${n}`);
    await untilScreen(page, new RegExp(`^early-${n}-60$`));
  }
  return panes;
}

const isDrivenAndNew = (known) => {
  const { active, panes } = window.spawn.state();
  const pane = panes.find((p) => p.id === active);
  return !known.includes(active) && pane?.phase === 'live' && pane.control === 'you';
};

async function untilAllExist(paths) {
  for (const end = Date.now() + 30_000; !paths.every(existsSync); ) {
    assert.ok(Date.now() < end, 'the shells did not go on without spawnd');
    await delay(20);
  }
}

/** History and screen of pane `id` hold each line of terminal `n` once, in order, and of no other. */
async function assertWhole(page, id, n) {
  const text = await page.evaluate(
    (pane) => `${window.spawn.historyText(pane)}${window.spawn.screenText(pane)}`,
    id,
  );
  const lines = text.split('\n').filter((line) => /^(early|late)-\d+(-\d+)?$/.test(line.trim()));
  const wanted = Array.from({ length: 60 }, (_, i) => `early-${n}-${i + 1}`);
  assert.deepEqual(
    lines.map((line) => line.trim()),
    [...wanted, `late-${n}`],
  );
}
