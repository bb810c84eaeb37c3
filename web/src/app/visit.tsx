// SPDX-License-Identifier: Apache-2.0

// What a visitor is told: by what right they see this, until when, and that it is over.

import type { Desk } from './desk';
import { Icon } from './icons';
import { untilText } from './times';
import { refusals } from './ui';

/** Stands above the terminals for as long as the visit goes on. */
export function VisitStrip({ desk }: { desk: Desk }) {
  const visit = desk.visit.value;
  if (!desk.guest || !visit || desk.halted) return null;
  const { count, text } = refusals.value;
  const refused = text !== '' && !desk.types.value;
  const what = desk.types.value ? 'you may watch, and type when you control' : 'read only';
  return (
    <div
      class={`strip visit ${refused ? 'refusal' : ''}`}
      key={refused ? count : 0}
      role={refused ? 'alert' : 'status'}
    >
      <Icon name="eye" />
      <span class="grow">
        <b>Visitor</b>, {what}, until {untilText(visit.expires_at, Date.now())}.
        {refused && ` ${text}`}
      </span>
      <button type="button" onClick={() => desk.leaveVisit()}>
        Leave
      </button>
    </div>
  );
}

/** Why a visitor sees nothing any more, or never did. */
export function endedText(desk: Desk): [string, string] {
  return desk.known.value
    ? [
        'This visit is over',
        'The link has ended: it was revoked, its time is up, or what it showed was closed. Whoever gave it to you can give you another one.',
      ]
    : [
        'This link does not work',
        'It has ended, or it is not whole. Whoever gave it to you can give you another one.',
      ];
}
