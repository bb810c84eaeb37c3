// SPDX-License-Identifier: Apache-2.0

/**
 * Splits a line into the words of a command, as a shell would: at blanks, with
 * '…', "…" and \ to keep them. Nothing is expanded. Null when a quote is open.
 */
export function wordsOf(line: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote = '';
  for (let i = 0; i < line.length; i++) {
    const c = line[i] as string;
    if (quote === "'") {
      if (c === "'") quote = '';
      else word += c;
    } else if (c === '\\') {
      const next = line[++i];
      if (next === undefined) return null;
      // Within "…" a backslash is itself, but for what it protects there.
      word = (word ?? '') + (quote && !/["\\$`]/.test(next) ? `\\${next}` : next);
    } else if (quote) {
      if (c === '"') quote = '';
      else word += c;
    } else if (c === "'" || c === '"') {
      quote = c;
      word ??= '';
    } else if (/\s/.test(c)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? '') + c;
  }
  if (quote) return null;
  if (word !== null) words.push(word);
  return words;
}
