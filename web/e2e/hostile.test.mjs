// SPDX-License-Identifier: Apache-2.0

// What pages of other origins, programs in a terminal and pasted text try, in
// a real browser against a real spawnd. One browser serves all of it.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openBrowser, screenshot, typeLine, until, untilLive, untilScreen } from './browser.mjs';
import { cellAt, drive, knownShell, newTerminal, rowOf, watched } from './person.mjs';
import { Spawnd, skip } from './spawnd.mjs';

/** A name of a stranger that leads to this machine, as after DNS rebinding. */
const reboundHost = 'evil.test';

let spawnd;
let browser;
let elsewhere;

before(async () => {
  if (skip) return;
  spawnd = await Spawnd.create();
  elsewhere = await serveElsewhere();
  browser = await openBrowser({
    extraArgs: [`--host-resolver-rules=MAP ${reboundHost} 127.0.0.1`],
  });
  await browser.page.goto(spawnd.url);
  await knownShell(browser.page);
});

after(async () => {
  await browser?.close();
  elsewhere?.close();
  await spawnd?.destroy();
});

const named = (name, work) => test(name, { skip }, () => watched(spawnd, browser, work));

/** A site of another origin, which remembers what it was asked. */
async function serveElsewhere() {
  const requests = [];
  const server = createServer((request, response) => {
    requests.push({ url: request.url, headers: request.headers });
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>elsewhere</title>');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${server.address().port}/`;
  return { url, requests, close: () => server.close() };
}

/** All that a stranger must not have touched: devices on disk, workers, what was logged as done. */
async function traces() {
  const config = join(spawnd.root, 'config');
  const files = (await readdir(config, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  const contents = await Promise.all(files.map((file) => readFile(file, 'base64')));
  return { files, contents, workers: [...(await spawnd.workers()).keys()].sort() };
}

/** Tries the signalling socket from within `frame`; resolves with all that came of it. */
function tryWebSocket(frame, url) {
  return frame.evaluate(
    (address) =>
      new Promise((resolve) => {
        const seen = [];
        const socket = new WebSocket(address, 'spawn.signal.v1');
        socket.onopen = () => seen.push('open');
        socket.onmessage = (event) => seen.push(`message ${event.data}`);
        socket.onclose = () => resolve(seen);
      }),
    url,
  );
}

const signalUrl = (host) => `ws://${host}:${spawnd.port}/api/signal`;

named('T01: a page of another origin gets no word over the signalling socket', async () => {
  const before = await traces();
  const page = await browser.context.newPage();
  try {
    await page.goto(elsewhere.url);
    for (const host of ['127.0.0.1', 'localhost']) {
      assert.deepEqual(await tryWebSocket(page, signalUrl(host)), [], `from another port, ${host}`);
    }
    await page.setContent('<iframe sandbox="allow-scripts" srcdoc="x"></iframe>');
    const sandboxed = page.frames()[1];
    await sandboxed.waitForLoadState();
    assert.deepEqual(await tryWebSocket(sandboxed, signalUrl('127.0.0.1')), [], 'origin null');
    const readable = await page.evaluate(
      (url) =>
        fetch(url).then(
          (r) => r.text(),
          () => 'refused',
        ),
      `http://127.0.0.1:${spawnd.port}/`,
    );
    assert.equal(readable, 'refused', 'the page itself cannot be read either');
  } finally {
    await page.close();
  }
  assert.deepEqual(await traces(), before);
});

named(
  'T02: a name that was rebound to this machine is refused, with nothing in the answer',
  async () => {
    const before = await traces();
    const page = await browser.context.newPage();
    try {
      const root = `http://${reboundHost}:${spawnd.port}/`;
      const answer = await page.goto(root);
      assert.equal(answer.status(), 403);
      assert.equal(await answer.text(), 'refused\n');
      for (const path of ['', 'api/signal', 'assets/', 'index.html']) {
        const got = await page.evaluate(async (url) => {
          const response = await fetch(url);
          return [response.status, await response.text()];
        }, root + path);
        assert.deepEqual(got, [403, 'refused\n'], path);
      }
      assert.deepEqual(await tryWebSocket(page, signalUrl(reboundHost)), []);
      assert.deepEqual(await tryWebSocket(page, signalUrl('127.0.0.1')), []);
    } finally {
      await page.close();
    }
    assert.deepEqual(await traces(), before);
  },
);

named('T10: the pairing code stays out of requests, timings, frames and logs', async () => {
  const url = await spawnd.freshUrl();
  const code = new URL(url).hash.replace('#pair=', '');
  assert.match(code, /^[\w-]{22}$/);
  const own = await openBrowser();
  try {
    const said = [];
    own.page.on('request', async (request) => {
      said.push(request.url(), JSON.stringify(await request.allHeaders().catch(() => ({}))));
    });
    own.page.on('websocket', (socket) => {
      said.push(socket.url());
      socket.on('framesent', ({ payload }) => said.push(String(payload)));
      socket.on('framereceived', ({ payload }) => said.push(String(payload)));
    });
    await own.page.goto(url);
    await untilLive(own.page);
    const kept = await own.page.evaluate(() =>
      JSON.stringify([
        // The browser names the page's own navigation by its whole address, and nothing can change
        // that; only this page can read it, and the code in it is spent.
        performance.getEntries().filter((entry) => entry.entryType !== 'navigation'),
        location.href,
        document.referrer,
        history.state,
        { ...localStorage },
        { ...sessionStorage },
        document.documentElement.outerHTML,
      ]),
    );
    assert.ok(
      said.some((text) => text.includes('"type":"pair"')),
      'it was paired while we listened',
    );
    assert.ok(said.some((text) => text.includes('/assets/')));
    for (const text of [...said, kept, spawnd.log]) {
      // A navigation's own address is the browser's to know; the network never sees a fragment.
      if (text !== url) assert.ok(!text.includes(code), text.slice(0, 300));
    }
    for (const file of (await traces()).files) {
      assert.ok(!(await readFile(file, 'latin1')).includes(code), file);
    }
  } finally {
    await own.close();
  }
});

/** Sends a stream of bytes to the terminal as a program's output. */
async function print(page, bytes) {
  const file = join(spawnd.home, 'output.bin');
  await writeFile(file, bytes);
  await typeLine(page, `clear; cat ${file}; echo; echo printed`);
  await untilScreen(page, /^printed$/);
}

named('T52: OSC 52 neither writes nor reads the clipboard', async (page) => {
  const origin = new URL(page.url()).origin;
  await browser.context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin });
  await newTerminal(page);
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  await page.evaluate(() => navigator.clipboard.writeText('mine'));
  assert.equal(await clipboard(), 'mine');
  const stolen = Buffer.from('stolen').toString('base64');
  const large = Buffer.from('x'.repeat(1_500_000)).toString('base64');
  const writes = ['c', 'p', '', 'cs0'].map(
    (to) => `\x1b]52;${to};${stolen}\x07\x1b]52;${to};${stolen}\x1b\\`,
  );
  const said = page.getByText('wanted to write to your clipboard').waitFor();
  await print(page, `${writes.join('')}\x1b]52;c;${large}\x07`);
  await said;
  assert.equal(await clipboard(), 'mine');
  const ask = String.raw`IFS= read -rsn 1 -t 1 -p $'\e]52;c;?\a' a; printf '<%q>\n' "$a"`;
  await typeLine(page, ask);
  await untilScreen(page, /^<''>$/);
  assert.equal(await clipboard(), 'mine');
});

named(
  'T53: of marked links only http and https open, and the real target is shown',
  async (page) => {
    await newTerminal(page);
    const run = "window.pwned='yes'";
    const forbidden = [
      `javascript:${run}`,
      `JaVaScRiPt:${run}//http://`,
      `java\tscript:${run}`,
      `java\x01script:${run}`,
      ` javascript:${run}`,
      `vbscript:${run}`,
      `data:text/html,<script>opener.${run}</script>`,
      `DATA:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==`,
      `file:///etc/passwd`,
      `FiLe:///etc/passwd`,
      `blob:${elsewhere.url}0`,
      `http:${'x'.repeat(5000)}`,
      `//127.0.0.1:${spawnd.port}/`,
    ];
    const marked = (uri, text) => `\x1b]8;;${uri}\x1b\\${text}\x1b]8;;\x1b\\\r\n`;
    const allowed = `${elsewhere.url}real?x=1`;
    const secure = `${elsewhere.url.replace('http:', 'https:')}secure`;
    await print(
      page,
      forbidden.map((uri, i) => marked(uri, `forbidden-${i}-link`)).join('') +
        marked(allowed, 'https://bank.example/') +
        marked(secure, 'https-link'),
    );
    const opened = [];
    const navigations = [];
    browser.context.on('page', (other) => opened.push(other.url()));
    page.on('framenavigated', (frame) => navigations.push(frame.url()));
    page.on('dialog', (dialog) => navigations.push(dialog.message()));
    const at = async (text) => cellAt(page, 3, await rowOf(page, text));
    for (let i = 0; i < forbidden.length; i++) {
      const { x, y } = await at(`forbidden-${i}-link`);
      await page.mouse.move(x, y);
      await page.mouse.click(x, y);
      await page.mouse.click(x, y, { button: 'middle' });
      await page.keyboard.down('Control');
      await page.mouse.click(x, y);
      await page.keyboard.up('Control');
    }
    assert.equal(await page.evaluate(() => window.pwned), undefined);

    for (const [text, target] of [
      ['https://bank.example/', allowed],
      ['https-link', secure],
    ]) {
      const { x, y } = await at(text);
      await page.mouse.move(x, y + 1);
      await page.mouse.move(x, y);
      const shown = page.locator('.link-target b');
      await shown.waitFor();
      assert.equal(await shown.textContent(), target);
      if (text.startsWith('https:')) await screenshot(page, 'link-target');
      const popup = browser.context.waitForEvent('page');
      const request = browser.context.waitForEvent('request', (r) => r.url() === target);
      await page.keyboard.down('Control');
      await page.mouse.click(x, y);
      await page.keyboard.up('Control');
      await request;
      const other = await popup;
      if (target === allowed) {
        await other.waitForLoadState();
        assert.equal(other.url(), allowed);
        assert.equal(await other.evaluate(() => window.opener), null);
        assert.equal(await other.evaluate(() => document.referrer), '');
      }
      await other.close();
    }
    assert.equal(opened.length, 2, 'what is forbidden opened nothing');
    assert.deepEqual(navigations, []);
    const asked = elsewhere.requests.filter((r) => r.url === '/real?x=1');
    assert.equal(asked.length, 1);
    assert.equal(asked[0].headers.referer, undefined);
    browser.problems.length = 0;
  },
);

const queries =
  '\x1b[c\x1b[>c\x1b[=c\x1b[6n\x1b[?6n\x1b[?2026$p\x1b[4$p\x1b[>q\x1bP$qm\x1b\\\x1bP+q544e\x1b\\' +
  '\x1b]4;1;?\x07\x1b]10;?\x07\x1b]11;?\x07\x1b]12;?\x07\x1b]52;c;?\x07\x05' +
  '\x1b]0;echoed-title\x07\x1b]1;echoed-icon\x07' +
  [11, 13, 14, 15, 16, 18, 19, 20, 21].map((op) => `\x1b[${op}t`).join('');

named(
  'T50, T51: queries are answered once, by no page that comes later; titles never',
  async (page) => {
    const pane = await newTerminal(page);
    const [asked, got] = ['asked.bin', 'got.bin'].map((name) => join(spawnd.home, name));
    const lines = Array.from({ length: 200 }, (_, i) => `${i}${queries}`).join('\r\n');
    await writeFile(asked, `${lines}\r\n${queries}\x1b[5n`);
    const bytes = async () => (await readFile(got).catch(() => Buffer.alloc(0))).toString('latin1');
    const untilBytes = async (check) => {
      for (const end = Date.now() + 20_000; !check(await bytes()); ) {
        assert.ok(Date.now() < end, 'the terminal’s input did not become what was awaited');
        await page.waitForTimeout(50);
      }
    };
    await typeLine(page, `stty raw -echo; cat ${asked}; exec cat > ${got}`);
    await untilBytes((text) => text.endsWith('\x1b[0n'));
    const answered = await bytes();
    assert.doesNotMatch(answered, /echoed|\x1b\][lL]|\x1b\]52/);
    await page.reload();
    await untilLive(page);
    assert.equal(await page.evaluate(() => window.spawn.state().active), pane);
    const others = [];
    for (let n = 0; n < 2; n++) {
      const other = await browser.context.newPage();
      others.push(other);
      await other.goto(page.url());
      await untilLive(other);
      await other.getByRole('tab').last().click();
      await until(other, (id) => window.spawn.state().active === id, pane);
      await untilLive(other);
    }
    await drive(page);
    await page.keyboard.press('Shift+PageUp');
    await until(page, (id) => window.spawn.state().panes.find((p) => p.id === id).scrollback, pane);
    await page.keyboard.press('Home');
    await page.keyboard.press('Escape');
    for (const other of others) await other.close();
    await page.bringToFront();
    await page.locator('.screen:not([hidden])').click();
    await page.keyboard.type('Z');
    await untilBytes((text) => text.endsWith('Z'));
    assert.equal(await bytes(), `${answered}Z`, 'nothing but the key came after the answers');
  },
);

/** What the browser does on a paste, with `text` on the clipboard. */
async function paste(page, text) {
  await page.evaluate((content) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', content);
    const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
    document.activeElement.dispatchEvent(event);
  }, text);
}

named('T54: a paste that carries its own end markers runs nothing in bash', async (page) => {
  await newTerminal(page);
  const sentinel = join(spawnd.home, 'sentinel');
  const command = `touch ${sentinel}`;
  const attacks = [
    `\x1b[201~\n${command}\n`,
    `\x1b\x1b[201~[201~\n${command}\n`,
    `\x1b[20\x1b[201~1~\r${command}\r`,
    `\x1b[2\x1b[2\x1b[201~01~01~\n${command}\n`,
    `\u009b201~\r${command}\r`,
    `\u009b2\u009b201~01~\n${command}\n`,
    `\x1b[200~\x1b[201~\r\n${command}\r\n`,
    `x\x03\n${command}\n`,
    `\x00\x1b\x00[201~\n${command}\n`,
  ];
  for (const [i, attack] of attacks.entries()) {
    await paste(page, attack);
    await untilScreen(page, /touch \S+sentinel/).catch(async (error) => {
      const asked = await page.getByRole('dialog').isVisible();
      const focus = await page.evaluate(() => document.activeElement.className);
      throw new Error(`attack ${i} was not pasted; asked first: ${asked}, focus: ${focus}`, {
        cause: error,
      });
    });
    // Erased, not interrupted: an interrupt that comes during readline's redisplay may be lost.
    await page.keyboard.press('Control+u');
    await typeLine(page, `clear; echo survived-$((${i} + 100))`);
    await untilScreen(page, new RegExp(`^survived-${i + 100}\\nready\\$$`));
    assert.ok(!existsSync(sentinel), JSON.stringify(attack));
  }
  await typeLine(page, "bind 'set enable-bracketed-paste off'; clear; echo unbracketed");
  await untilScreen(page, /^unbracketed\nready\$$/);
  await paste(page, attacks[0]);
  await page.getByRole('dialog').waitFor();
  await screenshot(page, 'paste-asked');
  await page.keyboard.press('Escape');
  await typeLine(page, 'echo refused-$((1 + 1))');
  await untilScreen(page, /^refused-2$/);
  assert.ok(!existsSync(sentinel), 'without bracketed paste a person is asked first');
  await paste(page, command);
  await page.keyboard.press('Enter');
  await typeLine(page, 'echo harmless-$((1 + 1))');
  await untilScreen(page, /^harmless-2$/);
  assert.ok(existsSync(sentinel), 'a harmless paste works');
});

named('T55: titles are text alone, without what hides or turns it', async (page) => {
  const pane = await newTerminal(page);
  const titles = [
    [
      `<img src=x onerror="window.pwned=1"><b>bold</b>`,
      `<img src=x onerror="window.pwned=1"><b>bold</b>`,
    ],
    ['&lt;i&gt; &amp;', '&lt;i&gt; &amp;'],
    ['exe.\u202egnp\u2066\u200b.txt', /^exe\. ?gnp ?\.txt$/],
    ['t'.repeat(2000), /^t{20,127}…?$/],
  ];
  const tab = page.locator('.tab.on');
  const label = () =>
    page.evaluate((id) => window.spawn.state().panes.find((p) => p.id === id).label, pane);
  for (const [raw, wanted] of titles) {
    await print(page, `\x1b]2;${raw}\x07`);
    const pattern =
      wanted instanceof RegExp
        ? wanted.source
        : `^${wanted.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
    await until(
      page,
      ([id, re]) => new RegExp(re).test(window.spawn.state().panes.find((p) => p.id === id).label),
      [pane, pattern],
    ).catch(async () =>
      assert.fail(`title became ${JSON.stringify(await label())}, not ${pattern}`),
    );
    assert.equal(await tab.locator('.name').textContent(), await label());
    assert.equal(await tab.locator('.name *').count(), 0);
    assert.doesNotMatch(
      await page.title(),
      /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/,
    );
  }
  await print(page, '\x1b]2;one\x1b[31mtwo\x07');
  await until(
    page,
    (id) => !/\u001b/.test(window.spawn.state().panes.find((p) => p.id === id).label),
    pane,
  );
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  await screenshot(page, 'titles');
});
