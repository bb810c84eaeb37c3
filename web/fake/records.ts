// SPDX-License-Identifier: Apache-2.0

// The pretended host's checkpoints, as recovery.* would answer.

import type {
  CheckpointStatus,
  Outline,
  OutlinedPane,
  RecoveryInspectResult,
} from '../src/wire/verbs';

const id = (n: number) => `c0000000${n}-0000-4000-8000-000000000000`;

const day = 86_400_000;

const ended = { process_state: 'exited', exit_code: 0, signal: '', text_state: 'omitted' } as const;

function paneAs(pane: string, window: string, more: Partial<OutlinedPane> = {}): OutlinedPane {
  const unknown = { process_state: 'interrupted', exit_code: null, signal: '' } as const;
  return { pane, window, cols: 80, rows: 24, ...unknown, text_state: 'plain', ...more };
}

/** Three terminals in two windows: two tiles, one of which had ended, and a float with expired text. */
function arranged(more: Partial<OutlinedPane> = {}): Outline {
  return {
    sessions: [{ session: 's0', name: 'work' }],
    windows: [
      {
        window: 'w0',
        session: 's0',
        name: 'build',
        nodes: [
          { kind: 'split', axis: 'cols', first: 1, second: 2, ratio: 6250 },
          { kind: 'pane', pane: 'p0' },
          { kind: 'pane', pane: 'p4' },
        ],
      },
      { window: 'w1', session: 's0', name: '', nodes: [] },
    ],
    panes: [
      paneAs('p0', 'w0', more),
      paneAs('p4', 'w0', { ...ended, exit_code: 3, text_state: 'plain', ...more }),
      paneAs('p7', 'w1', { title: 'log', text_state: 'expired', ...more }),
    ],
  };
}

/** As what is left while a host shuts down. */
function dwindled(): Outline {
  const { sessions, windows } = arranged();
  return {
    sessions,
    windows: windows.map((at) => ({ ...at, nodes: [] })).slice(1),
    panes: [paneAs('p7', 'w1', { title: 'log' })],
  };
}

type Shutdown = RecoveryInspectResult['shutdown'];

/** A checkpoint that may be read, as it is listed: captured so many milliseconds ago. */
function saved(n: number, generation: number, ago: number, { panes }: Outline, shutdown: Shutdown) {
  return {
    checkpoint: id(n),
    status: 'valid',
    generation,
    captured_at: Date.now() - ago,
    shutdown,
    panes: panes.length,
    running: panes.filter((pane) => pane.process_state === 'interrupted').length,
    text_panes: textsOf(panes, 'plain'),
  } as const;
}

/** The host counts a text that may be read, and one that has expired, apart. */
function textsOf(panes: readonly OutlinedPane[], state: OutlinedPane['text_state']): number {
  return panes.filter((pane) => pane.text_state === state).length;
}

export class FakeRecords {
  #outlines = new Map<string, Outline>([
    [id(1), arranged(ended)],
    [id(2), arranged()],
    [id(5), dwindled()],
  ]);

  list: CheckpointStatus[] = [
    { checkpoint: id(3), status: 'expired', generation: 9 },
    saved(1, 11, day, arranged(ended), 'clean'),
    { ...saved(2, 12, 5 * 60_000, arranged(), 'open'), leading: true },
    { checkpoint: id(4), status: 'corrupt' },
  ];

  /** One more, as a save while the host shuts down leaves it: the host leads to the one before. */
  dwindle(): void {
    this.list.splice(3, 0, saved(5, 13, 4 * 60_000, dwindled(), 'open'));
  }

  inspect(checkpoint: string, topology = false): RecoveryInspectResult {
    const outline = this.#outlines.get(checkpoint) as Outline;
    const listed = this.list.find((at) => at.checkpoint === checkpoint);
    return {
      checkpoint,
      generation: listed?.generation ?? 0,
      shutdown: (listed?.shutdown ?? 'open') as Shutdown,
      sessions: outline.sessions.length,
      windows: outline.windows.length,
      panes: outline.panes.length,
      text_panes: textsOf(outline.panes, 'plain'),
      expired_text_panes: textsOf(outline.panes, 'expired'),
      ...(topology && { topology: outline }),
    };
  }

  forget(checkpoint: string): void {
    this.list = this.list.filter((at) => at.checkpoint !== checkpoint);
  }
}
