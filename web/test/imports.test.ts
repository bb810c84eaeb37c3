// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';

/** What each room may import of ours, besides itself. */
const allowed: Record<string, string[]> = {
  wire: [],
  link: ['wire'],
  term: ['wire'],
  app: ['wire', 'link', 'term'],
};

/** What a room may not name: the link has no page, the terminal no network. */
const banned: Record<string, RegExp> = {
  wire: /\b(document|window|RTCPeerConnection|WebSocket|indexedDB)\b\s*[.(]/,
  link: /\b(document|window)\b\s*\.|\bHTMLElement\b/,
  term: /\bnew (RTCPeerConnection|WebSocket|XMLHttpRequest)\b|\bfetch\(/,
};

const files = Object.keys(allowed).flatMap((room) =>
  readdirSync(join('src', room))
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => ({ room, path: join('src', room, name) })),
);

function importsOf(source: string): string[] {
  return [...source.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(
    (match) => match[1] as string,
  );
}

describe('imports point one way', () => {
  test.each(files)('$path', ({ room, path }) => {
    const source = readFileSync(path, 'utf8');
    for (const target of importsOf(source).filter((name) => name.startsWith('.'))) {
      const other = normalize(join('src', room, target)).split('/')[1] as string;
      if (other !== room) expect(allowed[room], `${path} imports ${target}`).toContain(other);
    }
    // Without comments, and without texts: 'window.new' is the name of a verb.
    const code = source.replace(/\/\*[\s\S]*?\*\/|\/\/.*|'[^'\n]*'/g, '');
    if (banned[room]) expect(code).not.toMatch(banned[room]);
    expect(source.startsWith('// SPDX-License-Identifier: Apache-2.0\n')).toBe(true);
  });
});
