// SPDX-License-Identifier: Apache-2.0

// The visits of this browser, each under the name of its link, so that a tab
// that is loaded again goes on with its own.

import { kept } from './kept';
import type { Visit } from './visitor';

const prefix = 'visit:';

/** A link lives for a week at most: what is older opens nothing. */
const ageMaxMs = 7 * 24 * 3600 * 1000;

export interface VisitStore {
  load(link: string): Promise<Visit | null>;
  save(visit: Visit): Promise<void>;
  forget(link: string): Promise<void>;
}

/** The store in IndexedDB, beside the pairing and apart from it. */
export class BrowserVisits implements VisitStore {
  async load(link: string): Promise<Visit | null> {
    const found = await kept('readonly', (store) => store.get(prefix + link));
    return isVisit(found) ? found : null;
  }

  async save(visit: Visit): Promise<void> {
    await this.#sweep(visit.at - ageMaxMs);
    await kept('readwrite', (store) => store.put(visit, prefix + visit.link));
  }

  async forget(link: string): Promise<void> {
    await kept('readwrite', (store) => store.delete(prefix + link));
  }

  async #sweep(before: number): Promise<void> {
    const range = IDBKeyRange.bound(prefix, `${prefix}\uffff`);
    for (const found of await kept('readonly', (store) => store.getAll(range))) {
      if (isVisit(found) && found.at < before) await this.forget(found.link);
    }
  }
}

function isVisit(found: unknown): found is Visit {
  return (found as Visit | undefined)?.key instanceof CryptoKey;
}
