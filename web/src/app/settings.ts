// SPDX-License-Identifier: Apache-2.0

// What a person sets once on a device. Kept in localStorage, where there is one.

import { effect, signal } from '@preact/signals';
import type { Scheme } from '../term/theme';

export type Look = 'auto' | Scheme;

export const fontSizeMin = 8;
export const fontSizeMax = 28;
const fontSizeDefault = 14;
const key = 'spawn.settings.v1';

const stored = load();

export const fontSize = signal(stored.fontSize);
export const look = signal<Look>(stored.look);
export const screenReader = signal(stored.screenReader);

const systemLight = matchMedia('(prefers-color-scheme: light)');
const systemScheme = signal<Scheme>(systemLight.matches ? 'light' : 'dark');
systemLight.addEventListener('change', (event) => {
  systemScheme.value = event.matches ? 'light' : 'dark';
});

/** The scheme in force. */
export function scheme(): Scheme {
  return look.value === 'auto' ? systemScheme.value : look.value;
}

/** Changes the text size by whole pixels, within its bounds. */
export function changeFontSize(by: number): void {
  fontSize.value = clampFont(fontSize.value + by);
}

export function resetFontSize(): void {
  fontSize.value = fontSizeDefault;
}

/** Saves every change and shows the scheme in the page. To be called once. */
export function applySettings(): void {
  effect(() => {
    document.documentElement.dataset.look = look.value;
    const text = JSON.stringify({
      fontSize: fontSize.value,
      look: look.value,
      screenReader: screenReader.value,
    });
    try {
      localStorage.setItem(key, text);
    } catch {
      // A browser that keeps nothing: the settings last as long as the page.
    }
  });
}

function load(): { fontSize: number; look: Look; screenReader: boolean } {
  const settings = { fontSize: fontSizeDefault, look: 'auto' as Look, screenReader: false };
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? '{}') as Record<string, unknown>;
    if (typeof found.fontSize === 'number') settings.fontSize = clampFont(found.fontSize);
    if (found.look === 'dark' || found.look === 'light') settings.look = found.look;
    settings.screenReader = found.screenReader === true;
  } catch {
    // Unreadable settings are no settings.
  }
  return settings;
}

function clampFont(size: number): number {
  return Math.min(fontSizeMax, Math.max(fontSizeMin, Math.round(size)));
}
