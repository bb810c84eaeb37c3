// SPDX-License-Identifier: Apache-2.0
import fs from 'node:fs';
import unicode11 from '@xterm/addon-unicode11';
import headless from '@xterm/headless';
import { describe, expect, test } from 'vitest';
import { colourQuery, swallowQueries } from '../src/term/replies';
import { bufferText } from '../src/term/rows';
import { clearBeforeRepaint, screenOptions, useUnicode11 } from '../src/term/setup';

const { Terminal } = headless;
const { Unicode11Addon } = unicode11;

function terminal(cols = 20, rows = 5) {
  const term = new Terminal({ ...screenOptions, cols, rows });
  useUnicode11(term as never, new Unicode11Addon());
  const replies: string[] = [];
  const guard = swallowQueries(term.parser as never);
  term.onData((data) => replies.push(data));
  term.onBinary((data) => replies.push(data));
  const write = (data: string) => new Promise<void>((resolve) => term.write(data, resolve));
  return {
    term,
    replies,
    write,
    guard,
    text: () => bufferText(term.buffer.active as never, term.rows),
  };
}

describe('queries', () => {
  test.each([
    ['DA1', '\x1b[c'],
    ['DA1 with 0', '\x1b[0c'],
    ['DA2', '\x1b[>c'],
    ['DA3', '\x1b[=c'],
    ['DSR', '\x1b[5n'],
    ['CPR', '\x1b[6n'],
    ['DECXCPR', '\x1b[?6n'],
    ['DECRQM ANSI', '\x1b[4$p'],
    ['DECRQM private', '\x1b[?2026$p'],
    ['DECRQSS', '\x1bP$qm\x1b\\'],
    ['DECRQSS margins', '\x1bP$qr\x1b\\'],
    ['XTGETTCAP', '\x1bP+q544e\x1b\\'],
    ['XTVERSION', '\x1b[>q'],
    ['window ops', '\x1b[11t\x1b[13t\x1b[14t\x1b[16t\x1b[18t\x1b[19t\x1b[20t\x1b[21t'],
    ['C1 form', '\u009bc'],
    ['OSC 4', '\x1b]4;1;?\x07'],
    ['OSC 10', '\x1b]10;?\x1b\\'],
    ['OSC 11', '\x1b]11;?\x07'],
    ['OSC 12', '\x1b]12;?\x07'],
    ['OSC 52 read', '\x1b]52;c;?\x07'],
    ['ENQ', '\x05'],
  ])('%s is never answered', async (_, query) => {
    const { replies, write, text } = terminal();
    for (const byte of `a${query}b`) await write(byte);
    expect(replies).toEqual([]);
    expect(text().trim()).toBe('ab');
  });

  test('without the hooks the same terminal would answer', async () => {
    const term = new Terminal({ ...screenOptions });
    const replies: string[] = [];
    term.onData((data) => replies.push(data));
    await new Promise<void>((resolve) => term.write('\x1b[c\x1b[6n', resolve));
    expect(replies).toHaveLength(2);
  });

  test('what only sets is left to the terminal', () => {
    expect(colourQuery(4, '1;#123456')).toBe('set');
    expect(colourQuery(4, '1;?')).toBe('query');
    expect(colourQuery(4, '1;?;2;#123456')).toBe('mixed');
    expect(colourQuery(10, '?')).toBe('query');
    expect(colourQuery(10, '?;#fff')).toBe('mixed');
    expect(colourQuery(11, 'rgb:00/00/00')).toBe('set');
  });

  test('title changes and resizes of the window still pass', async () => {
    const { term, write } = terminal();
    let title = '';
    term.onTitleChange((t) => {
      title = t;
    });
    await write('\x1b]2;hello\x07');
    expect(title).toBe('hello');
  });
});

describe('the set-up that the worker agrees with', () => {
  test.each([
    ['emoji', '🙂', 2],
    ['CJK', '測', 2],
    ['combining', 'e\u0301', 1],
    ['heart with VS16', '❤️', 1],
    ['family', '👨‍👩‍👧‍👦', 8],
    ['flag', '🇩🇪', 2],
  ])('%s takes its Unicode 11 width', async (_, glyphs, width) => {
    const { term, write } = terminal();
    await write(glyphs);
    expect(term.unicode.activeVersion).toBe('11');
    expect(term.buffer.active.cursorX).toBe(width);
  });

  test('a taller screen pulls nothing back, and there is no scrollback', async () => {
    const { term, write, text } = terminal(10, 3);
    await write('1\r\n2\r\n3\r\n4');
    expect(term.buffer.active.length).toBe(3);
    term.resize(10, 5);
    expect(text().trimEnd()).toBe('2\n3\n4');
  });

  test.each([
    ['an open OSC', '\x1b]0;open'],
    ['an open DCS', '\x1bPopen'],
    ['half a CSI', '\x1b[38;5'],
    ['half a character', '\xe6'],
    ['line drawing, origin mode, margins, insert', '\x1b(0\x0e\x1b)0\x1b[2;3r\x1b[?6h\x1b[4h'],
    [
      'the alternate screen, mouse, paste marks',
      '\x1b[?1049h\x1b[?1003h\x1b[?1006h\x1b[?2004h\x1b[?1h',
    ],
  ])('a repaint starts clean after %s', async (_, before) => {
    const { term, write, text } = terminal();
    await write(before);
    await write(`${clearBeforeRepaint}\x1b[1;1Hq\x1b[2;1Hr`);
    expect(text().trimEnd()).toBe('q\nr');
    expect(term.buffer.active.type).toBe('normal');
    expect(term.modes).toMatchObject({
      mouseTrackingMode: 'none',
      bracketedPasteMode: false,
      applicationCursorKeysMode: false,
      originMode: false,
    });
  });
});

test('wrapped rows are one line of text', async () => {
  const { write, text } = terminal(5, 4);
  await write('abcdefg\r\nx y');
  expect(text().trimEnd()).toBe('abcdefg\nx y');
});

test('no source names a scrollback for the live screen', () => {
  expect(screenOptions.scrollback).toBe(0);
  expect(fs.readFileSync('src/term/screen.ts', 'utf8')).not.toMatch(/scrollback:/);
});
