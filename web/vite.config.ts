// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from 'vitest/config';

// The output is committed and embedded into the binary, so nothing in it may
// depend on time, place or machine.
export default defineConfig({
  base: '/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    chunkSizeWarningLimit: 1200,
  },
  // A property is tried many times, and a machine that has other work takes its time.
  test: { include: ['test/**/*.test.ts'], environment: 'node', testTimeout: 60_000 },
});
