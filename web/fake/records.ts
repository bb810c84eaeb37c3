// SPDX-License-Identifier: Apache-2.0

// The pretended host's checkpoints, as recovery.* would answer.

import type { RecoveryInspectResult, RecoveryListResult } from '../src/wire/verbs';

const id = (n: number) => `c0000000${n}-0000-4000-8000-000000000000`;

const day = 86_400_000;

/** What a list tells of a checkpoint that was captured so many milliseconds ago. */
function saved(ago: number, panes: number, running: number) {
  return { captured_at: Date.now() - ago, shutdown: 'open', panes, running };
}

export class FakeRecords {
  list: RecoveryListResult['checkpoints'] = [
    { checkpoint: id(3), status: 'expired', generation: 9, ...saved(9 * day, 2, 2) },
    { checkpoint: id(1), status: 'valid', generation: 11, ...saved(day, 3, 0) },
    {
      checkpoint: id(2),
      status: 'valid',
      generation: 12,
      leading: true,
      ...saved(5 * 60_000, 3, 2),
    },
    { checkpoint: id(4), status: 'corrupt' },
  ];

  /** One more, as a save while the host shuts down leaves it: the host leads to the one before. */
  dwindle(): void {
    const newest = { checkpoint: id(5), status: 'valid', generation: 13 } as const;
    this.list.splice(3, 0, { ...newest, ...saved(4 * 60_000, 1, 1) });
  }

  inspect(checkpoint: string): RecoveryInspectResult {
    const clean = checkpoint === id(1);
    const listed = this.list.find((at) => at.checkpoint === checkpoint);
    return {
      checkpoint,
      generation: listed?.generation ?? 0,
      shutdown: clean ? 'clean' : 'open',
      sessions: 1,
      windows: 2,
      panes: listed?.panes ?? 0,
      text_panes: clean ? 0 : (listed?.panes ?? 0),
      expired_text_panes: clean || listed?.panes === 1 ? 0 : 1,
    };
  }

  forget(checkpoint: string): void {
    this.list = this.list.filter((at) => at.checkpoint !== checkpoint);
  }
}
