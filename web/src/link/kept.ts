// SPDX-License-Identifier: Apache-2.0

// The one object store of this origin in IndexedDB, which can hold a CryptoKey
// without showing it.

const dbName = 'spawn';
const storeName = 'pairing';

/** Does one thing with the store, in a transaction of its own. */
export async function kept<T>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const request = indexedDB.open(dbName, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(storeName);
  const db = await done(request);
  try {
    return await done(work(db.transaction(storeName, mode).objectStore(storeName)));
  } finally {
    db.close();
  }
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
