// SPDX-License-Identifier: Apache-2.0

import type { ITheme } from '@xterm/xterm';

export type Scheme = 'dark' | 'light';

interface Colours {
  foreground: string;
  background: string;
  cursor: string;
  selection: string;
  /** The sixteen colours in their usual order. */
  palette: readonly string[];
}

export const colours: Record<Scheme, Colours> = {
  dark: {
    foreground: '#d6dbe1',
    background: '#101316',
    cursor: '#6fd3b5',
    selection: '#6fd3b540',
    palette: [
      '#3a434c',
      '#e5717a',
      '#84c98b',
      '#dcb676',
      '#78aef0',
      '#c193e0',
      '#63c6c9',
      '#c3cad2',
      '#68727d',
      '#f18d94',
      '#a0dda6',
      '#eccb93',
      '#98c3fa',
      '#d4b0ee',
      '#86dadc',
      '#eef1f4',
    ],
  },
  light: {
    foreground: '#2a3036',
    background: '#fcfcfa',
    cursor: '#0b7a63',
    selection: '#0b7a6333',
    palette: [
      '#2a3036',
      '#b8303f',
      '#2f7d3b',
      '#8a6000',
      '#1f62b5',
      '#8440ab',
      '#0f7580',
      '#7d868f',
      '#59626b',
      '#c7414f',
      '#35813f',
      '#956b0e',
      '#3272c5',
      '#9856bf',
      '#167f88',
      '#a9b1b9',
    ],
  },
};

const names = [
  'black',
  'red',
  'green',
  'yellow',
  'blue',
  'magenta',
  'cyan',
  'white',
  'brightBlack',
  'brightRed',
  'brightGreen',
  'brightYellow',
  'brightBlue',
  'brightMagenta',
  'brightCyan',
  'brightWhite',
] as const;

/** The colours as xterm.js takes them. */
export function xtermTheme(scheme: Scheme): ITheme {
  const c = colours[scheme];
  const theme: ITheme = {
    foreground: c.foreground,
    background: c.background,
    cursor: c.cursor,
    cursorAccent: c.background,
    selectionBackground: c.selection,
  };
  names.forEach((name, i) => {
    theme[name] = c.palette[i];
  });
  return theme;
}
