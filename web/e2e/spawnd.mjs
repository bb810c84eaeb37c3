// SPDX-License-Identifier: Apache-2.0

// A real spawnd in folders of its own, which can be killed and started again.

import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The binary under test; spawn-worker is expected beside it. */
export const binary = process.env.SPAWND_BIN ?? '';

/** Why a test that needs something is left out, or false; it is not where SPAWN_REQUIRE_ALL=1 wants every test, and fails. */
export const without = (need, why) => (need || process.env.SPAWN_REQUIRE_ALL === '1' ? false : why);

/** Why all of these tests are left out, or false. */
export const skip = without(binary, 'SPAWND_BIN names no binary');

const startTimeoutMs = 20_000;

export class Spawnd {
  #child = null;
  #log = '';

  constructor(root) {
    this.root = root;
    this.home = join(root, 'home');
    this.port = 0;
    this.url = '';
  }

  /** A folder per instance; nothing of the person's own is read or written. */
  static async create() {
    const spawnd = new Spawnd(await mkdtemp(join(tmpdir(), 'spawn-e2e-')));
    for (const name of ['home', 'config', 'state', 'run']) {
      await mkdir(join(spawnd.root, name), { mode: 0o700 });
    }
    await spawnd.start();
    return spawnd;
  }

  get env() {
    return {
      PATH: `${dirname(binary)}:${process.env.PATH}`,
      LANG: 'C.UTF-8',
      TERM: 'dumb',
      SHELL: '/bin/bash',
      HOME: this.home,
      XDG_CONFIG_HOME: join(this.root, 'config'),
      XDG_STATE_HOME: join(this.root, 'state'),
      XDG_RUNTIME_DIR: join(this.root, 'run'),
    };
  }

  /** Starts it, on the port it had before if it had one; resolves with the address it prints. */
  async start() {
    const args = ['serve', '--listen', `127.0.0.1:${this.port}`];
    const child = spawn(binary, args, { env: this.env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    child.stderr.on('data', (text) => {
      this.#log += text;
    });
    child.on('exit', (code, signal) => {
      this.#log += `[spawnd ended: ${signal ?? code}]\n`;
    });
    this.url = await firstLine(child, () => this.#log);
    this.port = Number(new URL(this.url).port);
    return this.url;
  }

  /** SIGKILL, and not one instruction more. */
  async kill() {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  }

  /** What it wrote to standard error, for a failure's report. */
  get log() {
    return this.#log;
  }

  /** An address with an unused code, as the command gives it. */
  async freshUrl() {
    const { stdout } = await run(binary, ['pair'], { env: this.env });
    return /https?:\/\/\S+/.exec(stdout)[0];
  }

  /** What a command says. */
  async cli(...args) {
    return (await run(binary, args, { env: this.env })).stdout;
  }

  /** The worker processes of this instance, by session id. */
  async workers() {
    const found = new Map();
    for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
      const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
      if (!/spawn-worker$/.test(words[0] ?? '') || !words.some((w) => w.startsWith(this.root)))
        continue;
      const id =
        words[words.indexOf('--session-id') + 1] ??
        words.find((w) => w.startsWith('--session-id='))?.slice(13);
      found.set(id, Number(pid));
    }
    return found;
  }

  /** Ends spawnd and every worker of this instance, and removes its folders. */
  async destroy() {
    await this.kill();
    for (const pid of (await this.workers()).values()) process.kill(pid, 'SIGKILL');
    await rm(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}

function firstLine(child, log) {
  return new Promise((resolve, reject) => {
    let text = '';
    const timer = setTimeout(
      () => reject(new Error(`spawnd printed no address\n${log()}`)),
      startTimeoutMs,
    );
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`spawnd ended with ${code}\n${log()}`)));
    child.stdout.on('data', (chunk) => {
      text += chunk;
      const address = /https?:\/\/\S+/.exec(text.slice(0, text.lastIndexOf('\n')))?.[0];
      if (!address) return;
      clearTimeout(timer);
      resolve(address);
    });
  });
}
