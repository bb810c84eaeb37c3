// SPDX-License-Identifier: Apache-2.0

// Runs streams through @xterm/headless as the page configures it, and prints
// what it shows. The tests of internal/sessiond/emulator compare with it.
//
// Standard input, one JSON object a line:
//   {id, cols, rows, chunks: [base64 | {resize: [cols, rows]}]}
// Standard output, one line for each:
//   {id, error?, rows: [[cell, ...], ...], wrapped: [bool], cursor: {x, y},
//    state: {...}, replies: string, title: string, cols, rows}
//   cell: text, width, fg, bg, underline colour, underline, attributes and link
//   with tabs between them; blank cells at the end of a row are left out
//
// Colours and attributes are those of the emulator's CellStyle. A cell without
// text keeps only what it shows. A link is "?" where xterm.js has forgotten its
// target, because the line that opened it is gone. Modules come from web/node_modules, or from
// $SPAWN_NODE_MODULES.
import { createRequire } from "node:module";
import path from "node:path";
import readline from "node:readline";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const modules = path.resolve(process.env.SPAWN_NODE_MODULES ?? path.join(here, "../../web/node_modules"));
const require = createRequire(path.join(modules, "here.js"));
const { Terminal } = require(path.join(modules, "@xterm/headless"));
const { Unicode11Addon } = require(path.join(modules, "@xterm/addon-unicode11"));

const kindMask = 0x3000000;
const unset = 0x3ffffff;

// color drops the bits that a kind doesn't use.
function color(word) {
  const kind = word & kindMask;
  if (kind === 0) return 0;
  return kind === kindMask ? word & unset : word & (kindMask | 0xff);
}

// Attribute bits of the emulator, and where xterm.js keeps them.
const fgFlags = [
  [1, 0x8000000],
  [8, 0x20000000],
  [16, 0x4000000],
  [32, 0x40000000],
  [64, 0x80000000],
];
const bgFlags = [
  [2, 0x8000000],
  [4, 0x4000000],
  [128, 0x40000000],
  [256, 0x20000000],
];
const onBlank = 16 | 64 | 128 | 256;

function attributes(fg, bg) {
  let out = 0;
  for (const [bit, flag] of fgFlags) if (fg & flag) out |= bit;
  for (const [bit, flag] of bgFlags) if (bg & flag) out |= bit;
  return out;
}

// look returns [fg, bg, ul, underline, attributes, link] of fg and bg words
// and the extended attributes.
function look(core, fg, bg, ext) {
  const extended = (bg & 0x10000000) !== 0;
  const kind = extended ? (ext._ext & 0x1c000000) >> 26 : 1;
  const underline = fg & 0x10000000 ? kind : 0;
  const link = extended && ext.urlId ? (core._oscLinkService.getLinkData(ext.urlId)?.uri ?? "?") : "";
  const ul = underline && extended ? color(ext.underlineColor) : 0;
  return [color(fg), color(bg), ul, underline, attributes(fg, bg), link];
}

// plain is a cell that was never touched. Rows end before those.
const plain = ["", 1, 0, 0, 0, 0, 0, ""];
const untouched = (line, x) => !line.getFg(x) && !line.getBg(x) && !line.hasContent(x) && line.getWidth(x) === 1;

function cells(core, line, cols) {
  const out = [];
  const CellData = core.buffer.getNullCell().constructor;
  const cell = new CellData();
  let head = false;
  let end = cols;
  while (end > 0 && untouched(line, end - 1)) end--;
  for (let x = 0; x < end; x++) {
    line.loadCell(x, cell);
    const text = cell.getChars();
    let width = cell.getWidth();
    let style = cell.fg || cell.bg ? look(core, cell.fg, cell.bg, cell.extended) : plain.slice(2);
    if (text === "") {
      if (!head) width = 1;
      if (width === 1 && !(style[4] & onBlank) && !style[3] && !style[5]) style = [0, style[1], 0, 0, 0, ""];
    }
    head = width === 2;
    out.push([text, width, ...style].join("\t"));
  }
  while (out.length > 0 && out.at(-1) === plain.join("\t")) out.pop();
  return out;
}

function saved(buffer, charsetName, core) {
  const a = buffer.savedCurAttrData;
  return {
    x: Math.min(buffer.savedX, core.cols - 1),
    y: Math.max(buffer.savedY - buffer.ybase, 0),
    fg: color(a.fg),
    bg: color(a.bg),
    attributes: attributes(a.fg, a.bg),
    underlined: (a.fg & 0x10000000) !== 0,
    extended: (a.bg & 0x10000000) !== 0,
    mapping: charsetName(buffer.savedCharset),
  };
}

// A charset is known by what it makes of some letters.
const probe = (charset) => (charset ? [..."#@[\\]^_`{|}~aq"].map((c) => charset[c]?.[0] ?? c).join("") : "");

function state(core) {
  const m = core.coreService.decPrivateModes;
  const cs = core._charsetService;
  const buffer = core.buffer;
  const pen = core._inputHandler._curAttrData;
  const ext = pen.extended;
  return {
    alternate: buffer === core.buffers.alt,
    top: buffer.scrollTop,
    bottom: buffer.scrollBottom,
    tabs: Object.keys(buffer.tabs).map(Number).filter((x) => buffer.tabs[x] && x >= 0 && x < core.cols),
    saved: saved(buffer, probe, core),
    savedOther: saved(buffer === core.buffers.alt ? core.buffers.normal : core.buffers.alt, probe, core),
    pen: look(core, pen.fg, pen.bg, ext).join("\t"),
    modes: [
      core.coreService.modes.insertMode, core.options.convertEol, m.applicationCursorKeys, m.origin, m.wraparound,
      core.options.cursorBlink, core.coreService.isCursorHidden, m.reverseWraparound, m.applicationKeypad, m.sendFocus,
      m.bracketedPasteMode, m.synchronizedOutput,
    ].map(Boolean),
    mouse: core.coreMouseService.activeProtocol,
    encoding: core.coreMouseService.activeEncoding,
    cursorStyle: `${m.cursorStyle ?? ""} ${m.cursorBlink ?? ""}`,
    charsets: [0, 1, 2, 3].map((g) => probe(cs._charsets[g])),
    level: cs.glevel,
    mapping: probe(cs.charset),
    last: (core._inputHandler._parser.precedingJoinState >> 1) & 3,
    parser: core._inputHandler._parser.currentState,
  };
}

function run({ id, cols, rows, chunks }) {
  const terminal = new Terminal({
    cols, rows, scrollback: 0, allowProposedApi: true, logLevel: "off",
    windowsPty: { backend: "conpty", buildNumber: 21376 },
    windowOptions: { getWinSizeChars: true, pushTitle: true, popTitle: true },
  });
  terminal.loadAddon(new Unicode11Addon());
  terminal.unicode.activeVersion = "11";
  const core = terminal._core;
  let replies = "";
  let title = "";
  terminal.onData((s) => { replies += s; });
  terminal.onTitleChange((s) => { title = s; });
  try {
    for (const chunk of chunks) {
      if (typeof chunk === "string") core.writeSync(Buffer.from(chunk, "base64"));
      else terminal.resize(...chunk.resize);
    }
    const buffer = core.buffer;
    const lines = [];
    const wrapped = [];
    for (let y = 0; y < terminal.rows; y++) {
      const line = buffer.lines.get(buffer.ybase + y);
      lines.push(cells(core, line, terminal.cols));
      wrapped.push(line.isWrapped);
    }
    return {
      id, rows: lines, wrapped, cursor: { x: buffer.x, y: buffer.y }, state: state(core),
      replies, title, cols: terminal.cols, lines: terminal.rows,
    };
  } catch (error) {
    return { id, error: String(error) };
  } finally {
    terminal.dispose();
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(run(JSON.parse(line)))}\n`);
}
