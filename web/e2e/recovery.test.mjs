// SPDX-License-Identifier: Apache-2.0

// The host was switched off: its runtime folder and every process are gone. The
// page offers what was noted, and shows it as a record.

import assert from 'node:assert/strict';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertAccessible } from './axe.mjs';
import { screenshot, typeLine, until, untilLive, untilScreen } from './browser.mjs';
import { drive, knownShell, visit } from './person.mjs';
import { newCheckpoint, plant, readPlanted, storeOf } from './plant.mjs';
import { Spawnd, skip } from './spawnd.mjs';

/** A spawnd of its own that keeps checkpoints with text, and a browser that is paired with it. */
async function keeping(work) {
  const spawnd = await Spawnd.create();
  try {
    for (const [path, value] of [
      ['recovery.terminal_text', 'plain'],
      ['recovery.max_checkpoint_bytes', '65536'],
      ['recovery.enabled', 'true'],
    ]) {
      await spawnd.cli('config', 'set', '--path', path, '--value', value);
    }
    await spawnd.cli('config', 'reload');
    await visit(spawnd, spawnd.url, {}, (page) => work(page, spawnd));
  } finally {
    await spawnd.destroy();
  }
}

/** As a power cut does: no process and no runtime folder is left. */
async function switchOff(spawnd) {
  await spawnd.kill();
  for (const pid of (await spawnd.workers()).values()) process.kill(pid, 'SIGKILL');
  await rm(join(spawnd.root, 'run'), { recursive: true, force: true, maxRetries: 5 });
  await mkdir(join(spawnd.root, 'run'), { mode: 0o700 });
}

/** What is said above each record of the window. */
const headTexts = (page) => page.locator('.cell:not([hidden]) > .head').allTextContents();

test('after a power cut: the checkpoint in words, a restore, a record, a relaunch', { skip }, () =>
  keeping(async (page, spawnd) => {
    await knownShell(page);
    await typeLine(page, 'echo precious-$((40 + 2))');
    await untilScreen(page, /^precious-42$/);
    await page.getByRole('tab').press('F2');
    await page.getByRole('textbox', { name: 'Name' }).fill('deploy');
    await page.getByRole('button', { name: 'Rename', exact: true }).click();
    await page.getByRole('tab', { name: 'deploy' }).waitFor();
    for (const axis of ['cols', 'rows']) {
      await spawnd.cli('pane', 'split', '--pane', 'p0', '--axis', axis, '--', 'sh');
    }
    await spawnd.cli('recovery', 'checkpoint');
    // As when a host goes down: terminals end one by one, and what is left is saved once more.
    for (const id of ['p1', 'p2']) await spawnd.cli('pane', 'close', '--pane', id);
    await spawnd.cli('recovery', 'checkpoint');
    await switchOff(spawnd);
    await until(page, () => window.spawn.state().link !== 'up');
    await spawnd.start();
    await page.getByRole('heading', { name: 'What was here before' }).waitFor();
    const led = page.locator('.checkpoint.leading');
    await led.getByText('1 session, 1 window, 3 terminals; the text of all of them').waitFor();
    await led.getByText('Start with this one: the newer one looks like what was left').waitFor();
    await led.getByText(/^(just now|1 minute ago)$/).waitFor();
    const { checkpoints } = JSON.parse(await spawnd.cli('recovery', 'list', '--json'));
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
    assert.deepEqual(
      (await headTexts(page)).map((head) => /^Record of (.*?);/.exec(head)[1]).sort(),
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

test(
  'what is not as it was is said: texts that are cut, expired or not kept, files that are not read',
  {
    skip,
  },
  () =>
    keeping(async (page, spawnd) => {
      await knownShell(page);
      await typeLine(page, 'echo precious-$((40 + 2))');
      await untilScreen(page, /^precious-42$/);
      for (const axis of ['cols', 'rows', 'cols']) {
        await spawnd.cli('pane', 'split', '--pane', 'p0', '--axis', axis, '--', 'sh');
      }
      const made = JSON.parse(await spawnd.cli('recovery', 'checkpoint', '--json'));
      await switchOff(spawnd);
      const store = await storeOf(spawnd);
      const content = await readPlanted(store, made.checkpoint);
      const [, aged, bare, wide] = content.panes;
      aged.text.saved_at = '2026-01-01T00:00:00.000Z';
      aged.text.expires_at = '2026-01-01T00:00:01.000Z';
      bare.text = { availability: 'omitted' };
      wide.text.screen[0] = 'x'.repeat(wide.cols + 1);
      await plant(store, content);
      const another = (more) => ({ ...content, ...more, checkpoint: newCheckpoint() });
      const hidden = { sessions: [{ session: 's0', name: 'never-shown' }] };
      await plant(store, another(hidden), { sha256: '0'.repeat(64) });
      await plant(store, another({ ...hidden, generation: 90 }), { format: 4 });
      await plant(store, another({ ...hidden, padding: 'x'.repeat(70_000) }));
      await plant(store, another({ generation: 91, captured_at: '2999-01-01T00:00:00.000Z' }));
      await plant(store, another({ generation: 92 }), { mode: 0o644 });
      await spawnd.start();
      await page.getByRole('heading', { name: 'What was here before' }).waitFor();

      const led = page.locator('.checkpoint.leading');
      await led
        .getByText('1 session, 1 window, 4 terminals; the text of 2 of them; 1 expired')
        .waitFor();
      for (const words of [
        'Damaged: it cannot be restored',
        'Written by another version of spawnd',
        'Larger than this spawnd reads',
        'Dated in the future: it is not read',
        'Its file may have been changed by others: it is not read',
      ]) {
        await page.locator('.status-text').getByText(words).waitFor();
      }
      assert.equal(await page.getByRole('button', { name: /^Restore/ }).count(), 1);
      assert.doesNotMatch(await page.locator('.checkpoints').textContent(), /never-shown/);

      const tree = led.locator('.outline');
      await tree.locator('.window').waitFor();
      const before = await tree.locator('.window ul li').allInnerTexts();
      const [kept, cutLater, gone, none] = [content.panes[0], wide, aged, bare].map(
        ({ cols, rows }) => `; ${cols}×${rows}`,
      );
      const ran = 'interrupted, and may run still; its text';
      assert.deepEqual(
        before.map((line) => line.replace(/^\d\s*/, '')).sort(),
        [
          `${ran} has expired${gone}`,
          `${ran} was kept${cutLater}`,
          `${ran} was kept${kept}`,
          `${ran} was not kept${none}`,
        ].sort(),
      );
      assert.equal(await tree.locator('.drawing rect').count(), 4);
      await assertAccessible(page, 'what would come back');
      await screenshot(page, 'recovery-faults');

      await led.getByRole('button', { name: /^Restore Checkpoint/ }).click();
      await untilScreen(page, /^precious-42$/);
      await page.waitForFunction(
        () => document.querySelectorAll('.cell:not([hidden])').length === 4,
      );
      const after = await headTexts(page);
      const said = (n) => after.find((head) => head.includes(`(${n} of 4)`)) ?? '';
      // Each is in the place and in the state that was told before.
      before.forEach((line, place) => {
        const head = said(place + 1);
        assert.match(line, new RegExp(`^${place + 1}`));
        assert.equal(/has expired/.test(head), /has expired/.test(line), `${line} | ${head}`);
        assert.equal(/was not kept/.test(head), /was not kept/.test(line), `${line} | ${head}`);
      });
      assert.equal(after.filter((head) => /; 1 row cut at the edge\.$/.test(head)).length, 1);
      assert.deepEqual([...(await spawnd.workers())], [], 'a restore starts nothing');
      await screenshot(page, 'recovery-faults-restored');
    }),
);
