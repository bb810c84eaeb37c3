// SPDX-License-Identifier: Apache-2.0

// A tab that shows what a share link leads to. It stays one when it is loaded
// again, and has nothing to do with a pairing that the browser may have.

import { openShareLink, type ShareLink, type Visit, Visitor } from '../link/visitor';
import type { VisitStore } from '../link/visits';

const tabKey = 'spawn.visit';

/** The visit of this tab: by the link that its address brought, or the one it had before. Null when it has none. */
export function visitOfTab(link: ShareLink | null, visits: VisitStore): Visitor | null {
  if (link) return new Visitor(begin(link, visits));
  const name = recall();
  return name ? new Visitor(visits.load(name)) : null;
}

async function begin(link: ShareLink, visits: VisitStore): Promise<Visit> {
  const visit = await openShareLink(link, Date.now());
  remember(visit.link);
  // A browser that keeps nothing shows it until it is loaded again.
  await visits.save(visit).catch(() => {});
  return visit;
}

/** This tab is no visitor's any more, and its key goes. */
export async function leaveVisit(visits: VisitStore): Promise<void> {
  const name = recall();
  remember('');
  if (name) await visits.forget(name).catch(() => {});
}

function remember(name: string): void {
  try {
    if (name) sessionStorage.setItem(tabKey, name);
    else sessionStorage.removeItem(tabKey);
  } catch {
    // The visit lasts as long as the page.
  }
}

function recall(): string {
  try {
    return sessionStorage.getItem(tabKey) ?? '';
  } catch {
    return '';
  }
}
