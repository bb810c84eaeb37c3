// SPDX-License-Identifier: Apache-2.0

// The host was switched off: its runtime folder and every process are gone. The
// page offers what was noted, and shows it as a record.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { screenshot, typeLine, until, untilLive, untilScreen } from './browser.mjs';
import { drive, knownShell, visit } from './person.mjs';
import { binary, Spawnd, skip } from './spawnd.mjs';

const run = promisify(execFile);
let spawnd;

before(async () => {
  if (!skip) spawnd = await Spawnd.create();
});

after(() => spawnd?.destroy());

const spawnctl = (...args) => run(binary, args, { env: spawnd.env });

/** As a power cut does: no process and no runtime folder is left. */
async function switchOff() {
  await spawnd.kill();
  for (const pid of (await spawnd.workers()).values()) process.kill(pid, 'SIGKILL');
  await rm(join(spawnd.root, 'run'), { recursive: true, force: true, maxRetries: 5 });
  await mkdir(join(spawnd.root, 'run'), { mode: 0o700 });
}

test('after a power cut: the checkpoint in words, a restore, a record, a relaunch', { skip }, () =>
  visit(spawnd, spawnd.url, {}, async (page) => {
    await spawnctl('config', 'set', '--path', 'recovery.terminal_text', '--value', 'plain');
    await spawnctl('config', 'set', '--path', 'recovery.enabled', '--value', 'true');
    await spawnctl('config', 'reload');
    await knownShell(page);
    await typeLine(page, 'echo precious-$((40 + 2))');
    await untilScreen(page, /^precious-42$/);
    await page.getByRole('tab').press('F2');
    await page.getByRole('textbox', { name: 'Name' }).fill('deploy');
    await page.getByRole('button', { name: 'Rename', exact: true }).click();
    await page.getByRole('tab', { name: 'deploy' }).waitFor();
    for (const axis of ['cols', 'rows']) {
      await spawnctl('pane', 'split', '--pane', 'p0', '--axis', axis, '--', 'sh');
    }
    await spawnctl('recovery', 'checkpoint');
    // As when a host goes down: terminals end one by one, and what is left is saved once more.
    for (const id of ['p1', 'p2']) await spawnctl('pane', 'close', '--pane', id);
    await spawnctl('recovery', 'checkpoint');
    await switchOff();
    await until(page, () => window.spawn.state().link !== 'up');
    await spawnd.start();
    await page.getByRole('heading', { name: 'What was here before' }).waitFor();
    const led = page.locator('.checkpoint.leading');
    await led.getByText('1 session, 1 window, 3 terminals; the text of all of them').waitFor();
    await led.getByText('Start with this one: the newer one looks like what was left').waitFor();
    await led.getByText(/^(just now|1 minute ago)$/).waitFor();
    const { checkpoints } = JSON.parse((await spawnctl('recovery', 'list', '--json')).stdout);
    const { captured_at: captured } = checkpoints.find((at) => at.leading);
    const time = led.locator('time');
    assert.equal(Date.parse(await time.getAttribute('datetime')), captured);
    assert.match(await time.textContent(), new RegExp(`${new Date(captured).getFullYear()}`));
    const rest = page.locator('.checkpoint:not(.leading)').first();
    await rest.getByText('while the host was shutting down: 1 of 3 terminals').waitFor();
    await screenshot(page, 'power-cut');
    await led.getByRole('button', { name: /^Restore Checkpoint/ }).click();
    const bar = page.locator('.strip.record');
    await bar.getByText('it was interrupted, and may run still').waitFor();
    await untilScreen(page, /^precious-42$/);
    await page.getByRole('tab', { name: 'deploy' }).waitFor();
    await bar.getByText('Record of deploy (1 of 3); it was interrupted').waitFor();
    const heads = await page.locator('.cell:not([hidden]) > .head').allTextContents();
    assert.deepEqual(
      heads.map((head) => /^Record of (.*?);/.exec(head)[1]).sort(),
      [1, 2, 3].map((n) => `deploy (${n} of 3)`),
    );
    assert.deepEqual([...(await spawnd.workers())], [], 'a restore starts nothing');
    await page.keyboard.type('x');
    await page.getByRole('alert').getByText('This is a record').waitFor();
    await screenshot(page, 'power-cut-record');
    await bar.getByRole('button', { name: 'Relaunch…' }).click();
    await page.getByRole('textbox', { name: 'Command line' }).fill("env 'PS1=new$ ' sh");
    await page.getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Start' }).click();
    await untilLive(page);
    await drive(page);
    await typeLine(page, 'echo again-$((40 + 2))');
    await untilScreen(page, /^again-42$/);
    await page.getByRole('tab', { name: 'deploy' }).waitFor();
    const names = await page.evaluate(() => window.spawn.state().panes.map((p) => p.label));
    assert.match(names.shift(), /^(env|sh)$/, 'what runs');
    assert.deepEqual(names, ['deploy (2 of 3)', 'deploy (3 of 3)']);
    await screenshot(page, 'power-cut-relaunched');
    const text = await page.evaluate(() => window.spawn.screenText());
    assert.doesNotMatch(text, /precious/, 'a new terminal, and nothing of the record in it');
  }),
);
