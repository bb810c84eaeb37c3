// SPDX-License-Identifier: Apache-2.0

// The pretended host's checkpoints, as recovery.* would answer.

import type { RecoveryInspectResult, RecoveryListResult } from '../src/wire/verbs';

const id = (n: number) => `c0000000${n}-0000-4000-8000-000000000000`;

export class FakeRecords {
  list: RecoveryListResult['checkpoints'] = [
    { checkpoint: id(3), status: 'expired', generation: 9 },
    { checkpoint: id(1), status: 'valid', generation: 11 },
    { checkpoint: id(2), status: 'valid', generation: 12 },
    { checkpoint: id(4), status: 'corrupt' },
  ];

  inspect(checkpoint: string): RecoveryInspectResult {
    const clean = checkpoint === id(1);
    return {
      checkpoint,
      generation: clean ? 11 : 12,
      shutdown: clean ? 'clean' : 'open',
      sessions: 1,
      windows: 2,
      panes: 3,
      text_panes: clean ? 0 : 3,
      expired_text_panes: clean ? 0 : 1,
    };
  }

  forget(checkpoint: string): void {
    this.list = this.list.filter((at) => at.checkpoint !== checkpoint);
  }
}
