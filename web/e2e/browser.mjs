// SPDX-License-Identifier: Apache-2.0

// A real Chromium and what a person does in the page.

import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const outputDir = fileURLToPath(new URL('../../test-output/', import.meta.url));

const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Only with both does a page find 127.0.0.1 in a namespace that has nothing but lo.
  '--allow-loopback-in-peer-connection',
  '--disable-features=WebRtcHideLocalIpsWithMdns',
];

/**
 * A browser with a profile of its own, so that each is a device of its own.
 * `extraArgs` are put after the arguments that all have.
 */
export async function openBrowser({ extraArgs = [], ...options } = {}) {
  const profile = await mkdtemp(join(tmpdir(), 'spawn-browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    args: [...args, ...extraArgs],
    colorScheme: 'dark',
    viewport: { width: 1200, height: 760 },
    ...options,
  });
  const page = context.pages()[0] ?? (await context.newPage());
  const problems = [];
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`console: ${message.text()}`);
  });
  const close = async () => {
    await context.close();
    await rm(profile, { recursive: true, force: true });
  };
  return { context, page, problems, close };
}

/**
 * A phone held upright. The scale stays 1: the emulated one is not what
 * ResizeObserver reports for device pixels, which the WebGL renderer goes by.
 */
export const phone = {
  viewport: { width: 390, height: 844 },
  isMobile: true,
  hasTouch: true,
};

/** Waits until `check`, run in the page with `arg`, is true. */
export async function until(page, check, arg, timeout = 20_000) {
  await page.waitForFunction(check, arg, { timeout, polling: 50 });
}

/** Waits until the shown pane is live and its screen matches. */
export async function untilScreen(page, pattern, timeout = 20_000) {
  const source = pattern.source;
  const check = (re) => new RegExp(re, 'mu').test(window.spawn?.screenText() ?? '');
  await until(page, check, source, timeout);
}

/** Waits until the page is connected and its shown pane is exact. */
export async function untilLive(page, timeout = 20_000) {
  const check = () => {
    const s = window.spawn?.state();
    return s?.link === 'up' && s.panes.find((p) => p.id === s.active)?.phase === 'live';
  };
  await until(page, check, undefined, timeout);
}

/** Types a line into the terminal that has the focus. */
export async function typeLine(page, line) {
  await page.keyboard.type(line);
  await page.keyboard.press('Enter');
}

export async function screenshot(page, name) {
  await mkdir(outputDir, { recursive: true });
  const path = join(outputDir, `${name}.png`);
  await page.screenshot({ path });
  return path;
}

/** The page's widest overflow beyond the window, in pixels; 0 when nothing sticks out. */
export function sidewaysOverflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
}
