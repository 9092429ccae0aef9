// Unsent messages, kept by the browser with their files over reloads. If the browser keeps nothing, as in some private windows,
// they are kept as long as the page.

const name = 'clawhost';

const database = new Promise((resolve) => {
  const opening = indexedDB.open(name, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore('unsent', { keyPath: 'id' });
  opening.onsuccess = () => resolve(opening.result);
  opening.onerror = () => resolve(null);
});

async function run(mode, ask) {
  const db = await database;
  if (!db) return undefined;
  return new Promise((resolve) => {
    const transaction = db.transaction('unsent', mode, { durability: 'strict' });
    const request = ask(transaction.objectStore('unsent'));
    transaction.oncomplete = () => resolve(request.result);
    transaction.onabort = () => resolve(undefined);
  });
}

export const keep = (entry) => run('readwrite', (store) => store.put(entry));
export const drop = (id) => run('readwrite', (store) => store.delete(id));
export const kept = async () => ((await run('readonly', (store) => store.getAll())) ?? []).sort((a, b) => a.at - b.at);
