// SPDX-License-Identifier: Apache-2.0

// Prints how many MB of each file @xterm/headless takes in a second of CPU, one number a line.
//   node xterm.mjs NODE_MODULES COLS ROWS FILE...
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [modules, cols, rows, ...files] = process.argv.slice(2);
const require = createRequire(path.join(modules, "here.js"));
const { Terminal } = require("@xterm/headless");
const { Unicode11Addon } = require("@xterm/addon-unicode11");

const piece = 64 << 10; // bytes of one write, as for the Go emulator
const passMicros = 1_000_000; // CPU time that one measurement lasts at least

function feed(terminal, stream) {
  return new Promise((done) => {
    for (let at = 0; at < stream.length; at += piece) {
      const last = at + piece >= stream.length;
      terminal.write(stream.subarray(at, at + piece), last ? done : undefined);
    }
  });
}

function used() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

for (const file of files) {
  const stream = fs.readFileSync(file);
  const terminal = new Terminal({ cols: Number(cols), rows: Number(rows), scrollback: 1000, allowProposedApi: true });
  terminal.loadAddon(new Unicode11Addon());
  terminal.unicode.activeVersion = "11";
  await feed(terminal, stream);
  const start = used();
  let passes = 0;
  do {
    await feed(terminal, stream);
    passes++;
  } while (used() - start < passMicros);
  console.log((passes * stream.length) / (used() - start));
  terminal.dispose();
}
