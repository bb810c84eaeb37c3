// SPDX-License-Identifier: Apache-2.0

// What a person does first in a page of a real spawnd: come in, take control,
// open a terminal, start a shell that is the same everywhere.

import assert from 'node:assert/strict';
import { openBrowser, screenshot, typeLine, until, untilLive, untilScreen } from './browser.mjs';

/** What the browser itself says when a host is gone, or refuses. */
const networkTalk = /WebSocket connection|net::ERR|Failed to load resource/;

/** Runs `work` in this browser's page; a failure shows the page and what spawnd logged. */
export async function watched(spawnd, browser, work) {
  browser.problems.length = 0;
  try {
    await work(browser.page, browser);
    assert.deepEqual(
      browser.problems.filter((problem) => !networkTalk.test(problem)),
      [],
    );
  } catch (error) {
    await screenshot(browser.page, 'failure').catch(() => {});
    const state = await browser.page
      .evaluate(() => `${JSON.stringify(window.spawn?.state())}\n${window.spawn?.screenText()}`)
      .catch(() => '');
    error.message += `\npage: ${state}\nspawnd: ${spawnd.log.slice(-4000)}`;
    throw error;
  }
}

/** Opens a browser of its own at `url`, and closes it. */
export async function visit(spawnd, url, options, work) {
  const browser = await openBrowser(options);
  try {
    await browser.page.goto(url);
    await watched(spawnd, browser, work);
  } finally {
    await browser.close();
  }
}

/**
 * Waits until the page is live and takes control, as a person does who comes
 * from a browser that died: the host may hold that one for alive for a while.
 */
export async function drive(page) {
  await untilLive(page);
  const has = () =>
    window.spawn.state().panes.find((p) => p.id === window.spawn.state().active).control === 'you';
  const take = page.getByRole('button', { name: 'Take over' });
  for (let tries = 0; tries < 20 && !(await page.evaluate(has)); tries++) {
    if (await take.isVisible()) await take.click({ timeout: 1000 }).catch(() => {});
    else await page.locator('.cell.active > .screen:not([hidden])').click(); // a hidden one is being painted
    await until(page, has, undefined, 1000).catch(() => {});
  }
  await until(page, has);
}

/** Whatever the account's shell is, the tests type into one that is always the same. */
export async function knownShell(page) {
  await drive(page);
  await typeLine(page, "exec env PS1='ready$ ' HISTFILE= bash --noprofile --norc");
  await untilScreen(page, /^ready\$$/);
}

/** A new terminal with the known shell, shown and driven. Resolves with its id. */
export async function newTerminal(page) {
  const before = await page.evaluate(() => window.spawn.state().panes.map((p) => p.id));
  await page.keyboard.press('Control+Shift+Enter');
  const made = await page.waitForFunction(
    (known) => {
      const { active } = window.spawn.state();
      return !known.includes(active) && active;
    },
    before,
    { polling: 50 },
  );
  await knownShell(page);
  return made.jsonValue();
}

/** The middle of the cell at `col`, `row` (0-based) of the shown terminal, in the window. */
export function cellAt(page, col, row) {
  return page.evaluate(
    ([x, y]) => {
      const { panes, active } = window.spawn.state();
      const { cols, rows } = panes.find((pane) => pane.id === active);
      const screen = document.querySelector('.screen:not([hidden]) .xterm-screen');
      const box = screen.getBoundingClientRect();
      return {
        x: box.left + ((x + 0.5) * box.width) / cols,
        y: box.top + ((y + 0.5) * box.height) / rows,
      };
    },
    [col, row],
  );
}

/** The row (0-based) of the screen's first line that holds `text`; lines must not wrap. */
export async function rowOf(page, text) {
  const screen = await page.evaluate(() => window.spawn.screenText());
  return screen.split('\n').findIndex((line) => line.includes(text));
}
