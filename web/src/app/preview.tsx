// SPDX-License-Identifier: Apache-2.0

// A checkpoint before it is restored: what would come back, and where.

import { useEffect, useState } from 'preact/hooks';
import type { Outline } from '../wire/verbs';
import type { Desk } from './desk';
import type { Rect } from './layout';
import { linesOf, type WindowLines } from './outline';
import type { Checkpoint } from './recovery';

/** The one that a person is led to is open; the host is asked about another when it is opened. */
export function Preview({ at, desk }: { at: Checkpoint; desk: Desk }) {
  const { recovery } = desk;
  const [open, setOpen] = useState(at.leading);
  const [told, setTold] = useState<Outline | string | null>(null);
  const connected = desk.connected.value;
  useEffect(() => {
    if (!open || !connected) return;
    let late = false;
    void recovery.outline(at.id).then((outline) => {
      if (!late) setTold(outline);
    });
    return () => {
      late = true;
    };
  }, [open, connected, recovery, at]);
  return (
    <details class="outline" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What would come back</summary>
      {typeof told === 'string' && <p class="fault">{told}</p>}
      {told && typeof told !== 'string' && <Lines outline={told} />}
    </details>
  );
}

function Lines({ outline }: { outline: Outline }) {
  const { sessions, left } = linesOf(outline);
  return (
    <>
      <ul>
        {sessions.map(({ id, name, windows }) => (
          <li key={id}>
            <span class="faint">Session</span> <span class="name">{name}</span>
            <ul>
              {windows.map((window) => (
                <WindowEntry key={window.id} window={window} />
              ))}
            </ul>
          </li>
        ))}
      </ul>
      {left > 0 && <p class="faint">Not drawn: {left} more.</p>}
    </>
  );
}

function WindowEntry({ window }: { window: WindowLines }) {
  const { name, tiles, panes } = window;
  const several = tiles.length > 1;
  return (
    <li class="window">
      {several && <Drawing tiles={tiles} />}
      <div>
        <span class="name">{name}</span>
        <ul>
          {panes.map(({ id, number, text }) => (
            <li key={id}>
              {several && number > 0 && <span class="number">{number}</span>}
              {text}
            </li>
          ))}
        </ul>
      </div>
    </li>
  );
}

/** The drawing's size in its own units; the page scales it. */
const drawingSize = { width: 96, height: 60 };

/** Where the tiles go. The list beside it says the same to who does not see it. */
function Drawing({ tiles }: { tiles: readonly Rect[] }) {
  const { width, height } = drawingSize;
  return (
    <svg class="drawing" viewBox={`-1 -1 ${width + 2} ${height + 2}`} aria-hidden="true">
      {tiles.map(({ x, y, w, h }, place) => (
        <g key={place}>
          <rect x={x * width} y={y * height} width={w * width} height={h * height} />
          <text x={(x + w / 2) * width} y={(y + h / 2) * height}>
            {place + 1}
          </text>
        </g>
      ))}
    </svg>
  );
}
