// SPDX-License-Identifier: Apache-2.0

// Asks axe-core what a person with an assistive technology would stumble over.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

const source = await readFile(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
);

/** Fails with what axe finds in the page as it is now. `state` names it in the failure. */
export async function assertAccessible(page, state) {
  // Evaluated, not added as a script: the page's policy refuses the latter.
  if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate(source);
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document);
    return violations.flatMap((rule) =>
      rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 200)}\n${node.failureSummary}`),
    );
  });
  assert.deepEqual(found, [], `axe in state "${state}"`);
}
