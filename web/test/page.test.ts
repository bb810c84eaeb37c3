// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('the browser’s own frame has the ground of the page, in dark and in light', () => {
  const page = readFileSync('index.html', 'utf8');
  const style = readFileSync('src/app/style.css', 'utf8');
  const frame = (scheme: string) =>
    new RegExp(`theme-color" content="(#\\w+)" media="\\(prefers-color-scheme: ${scheme}\\)"`).exec(
      page,
    )?.[1];
  const [dark, ...light] = [...style.matchAll(/--ground: (#\w+);/g)].map((at) => at[1]);
  expect(frame('dark')).toBe(dark);
  // Once for who wants it, once for whose system does.
  expect(light).toEqual([frame('light'), frame('light')]);
});
