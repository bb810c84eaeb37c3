// SPDX-License-Identifier: Apache-2.0

// Files of checkpoints, as spawnd writes them, for what a test cannot wait for. docs/recovery.md has the format.

import { createHash, randomUUID } from 'node:crypto';
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The folder in which this spawnd keeps its checkpoints. */
export async function storeOf(spawnd) {
  const base = join(spawnd.root, 'state', 'spawn', 'recovery');
  const [key, ...others] = await readdir(base);
  if (!key || others.length > 0) throw new Error(`${base} has not one store`);
  return join(base, key);
}

/** What a checkpoint's file says. */
export async function readPlanted(store, checkpoint) {
  const file = await readFile(join(store, `${checkpoint}.json`), 'utf8');
  return JSON.parse(JSON.parse(file).payload);
}

/** Writes a checkpoint's file; `more` is what makes it another one than spawnd would write. */
export async function plant(store, content, { format = 3, mode = 0o600, sha256 } = {}) {
  const payload = JSON.stringify(content);
  const digest = sha256 ?? createHash('sha256').update(payload).digest('hex');
  const file = `${JSON.stringify({ format, payload, sha256: digest })}\n`;
  const path = join(store, `${content.checkpoint}.json`);
  await writeFile(path, file, { mode });
  await chmod(path, mode); // whatever the umask is
}

export const newCheckpoint = () => `c${randomUUID()}`;
