// SPDX-License-Identifier: Apache-2.0
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deviceName, readCode } from '../src/app/code';
import { openTarget } from '../src/term/links';
import { isMultiLine, pasteBytes, sanitisePaste } from '../src/term/paste';
import { plainText } from '../src/term/plain';
import { safeTitle, titleMax } from '../src/term/title';

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

describe('paste', () => {
  test.each([
    ['ls\x1b[201~id\r', 'lsid\r'],
    ['a\u009b201~b', 'ab'],
    ['\x1b\x1b[201~[201~x', 'x'],
    ['\x1b[2\x1b[201~01~x', 'x'],
    ['\u009b20\x1b[200~1~x', 'x'],
    ['tab\tcr\rlf\nend', 'tab\tcr\rlf\nend'],
    ['\x00\x03\x04\x7f\x85nul', 'nul'],
    ['\x1b]52;c;x\x07y', ']52;c;xy'],
    ['naïve 測試 🙂', 'naïve 測試 🙂'],
  ])('%j becomes %j', (raw, want) => {
    expect(sanitisePaste(raw)).toBe(want);
  });

  test('is a fix point without marker or control, whatever comes in', () => {
    const part = fc.constantFrom(
      '\x1b',
      '[',
      '20',
      '0',
      '1',
      '~',
      '\u009b',
      '201~',
      '\x1b[201~',
      'x',
      '\r',
      '\n',
      '\t',
      '\x07',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(part).map((p) => p.join('')),
          fc.string({ unit: 'binary' }),
        ),
        (raw) => {
          const once = sanitisePaste(raw);
          expect(sanitisePaste(once)).toBe(once);
          expect(once).not.toMatch(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/);
        },
      ),
      { numRuns: 2000 },
    );
  });

  test('line ends are Enter, and the marks stand around when the program asked', () => {
    expect(decode(pasteBytes('a\r\nb\nc', false))).toBe('a\rb\rc');
    expect(decode(pasteBytes('a\n', true))).toBe('\x1b[200~a\r\x1b[201~');
  });

  test('what would run at once', () => {
    expect(isMultiLine('ls')).toBe(false);
    expect(isMultiLine('ls\n')).toBe(true);
    expect(isMultiLine('a\nb')).toBe(true);
    expect(isMultiLine('a\rb')).toBe(true);
  });
});

describe('titles', () => {
  test.each([
    ['  vim\u001b[31m a.go ', 'vim [31m a.go'],
    ['evil\u202egnp.exe', 'evil gnp.exe'],
    ['a\u200bb\ufeffc', 'a b c'],
    ['line\r\nbreak', 'line break'],
    ['<b>&amp;</b>', '<b>&amp;</b>'],
    ['\ud800x', 'x'],
    ['tag\u{e0041}s', 'tag s'],
  ])('%j becomes %j', (raw, want) => {
    expect(safeTitle(raw)).toBe(want);
  });

  test('are cut by code points, with a sign', () => {
    const cut = safeTitle('🙂'.repeat(1_000_000));
    expect([...cut]).toHaveLength(titleMax);
    expect(cut.endsWith('…')).toBe(true);
  });

  test('making one safe twice changes nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (raw) => {
        const once = safeTitle(raw);
        expect(safeTitle(once)).toBe(once);
      }),
    );
  });
});

describe('link targets', () => {
  test.each([
    ['https://example.org/a?b#c', 'https://example.org/a?b#c'],
    ['HTTP://Example.org', 'http://example.org/'],
    ['https://аpple.com/', 'https://xn--pple-43d.com/'],
  ])('%s opens as %s', (uri, want) => {
    expect(openTarget(uri)).toBe(want);
  });

  test.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java\tscript:alert(1)',
    ' https://example.org',
    'data:text/html,x',
    'file:///etc/passwd',
    'vbscript:x',
    'https:example.org',
    'https://',
    'https://example.org/\u0000',
    'mailto:a@example.org',
    `https://example.org/${'x'.repeat(1 << 20)}`,
  ])('%.40s does not open', (uri) => {
    expect(openTarget(uri)).toBeNull();
  });
});

describe('plain text of history', () => {
  test.each([
    ['\x1b[0m\x1b[1;38;5;4mbold\x1b[0m\r\n', 'bold\n'],
    ['\x1b]8;id=1;https://x\x1b\\link\x1b]8;;\x1b\\\r\n', 'link\n'],
    ['\x1b]8;;https://x\x07link\x1b]8;;\x07', 'link'],
    ['a\tb\r\n\x1b(Bc', 'a\tb\nc'],
    ['\x1b_sp:h1\x1b\\x', 'x'],
    ['測試 🙂\r\n', '測試 🙂\n'],
  ])('%j', (styled, want) => {
    expect(plainText(new TextEncoder().encode(styled))).toBe(want);
  });
});

describe('pairing codes', () => {
  const code = 'AAECAwQFBgcICQoLDA0ODw';
  test.each([code, `#pair=${code}`, `http://127.0.0.1:7070/#pair=${code}`, ` ${code}\n`])(
    'reads %j',
    (text) => {
      expect([...(readCode(text) ?? [])]).toEqual(Array.from({ length: 16 }, (_, i) => i));
    },
  );
  test.each([
    '',
    '#pair=',
    `#pair=${code}A`,
    `#pair=${code.slice(1)}`,
    '#pair=AAECAwQFBgcICQoLDA0OD!',
    'AAECAwQFBgcICQoLDA0ODx',
  ])('refuses %j', (text) => {
    expect(readCode(text)).toBeNull();
  });

  test('a browser names itself', () => {
    expect(
      deviceName('Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/156.0 Safari/537.36'),
    ).toBe('Chrome on Linux');
    expect(
      deviceName(
        'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1',
      ),
    ).toBe('Safari on iPhone');
    expect(deviceName('')).toBe('Browser on unknown system');
  });
});
