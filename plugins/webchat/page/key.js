// What the page shares with its host: a key made from the link's token. Scripts can make proofs with it, but not read it, and
// the token itself is not stored.

const protocol = 'clawhost web chat 1';
const rounds = 600_000; // for a token that a person may have thought of, as the server does
const long = 43;
const oldPlace = 'clawhost.token'; // where the page once kept the token itself

const encoder = new TextEncoder();
const algorithm = { name: 'HMAC', hash: 'SHA-256' };
let key;

async function make(token) {
  const bytes = encoder.encode(token);
  if (bytes.length >= long) return crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign', 'verify']);
  const words = await crypto.subtle.importKey('raw', bytes, 'PBKDF2', false, ['deriveKey']);
  return crypto.subtle.deriveKey(
    { name: 'PBKDF2', hash: 'SHA-256', salt: encoder.encode(protocol), iterations: rounds },
    words, { ...algorithm, length: 256 }, false, ['sign', 'verify'],
  );
}

const database = new Promise((resolve) => {
  const opening = indexedDB.open('clawhost.key', 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore('keys');
  opening.onsuccess = () => resolve(opening.result);
  opening.onerror = () => resolve(null);
});

// run uses the browser's store, and returns undefined if it keeps nothing, as in some private windows.
async function run(mode, ask) {
  const db = await database;
  if (!db) return undefined;
  return new Promise((resolve) => {
    try {
      const transaction = db.transaction('keys', mode);
      const request = ask(transaction.objectStore('keys'));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => resolve(undefined);
    } catch {
      resolve(undefined);
    }
  });
}

// takeKey makes the key from the link's token, and removes the token from the address bar. It reports whether there was one.
export async function takeKey() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? localStorage.getItem(oldPlace);
  if (!token) return false;
  if (location.hash.includes('token=')) history.replaceState(null, '', location.pathname);
  key = await make(token);
  await run('readwrite', (store) => store.put(key, 'key'));
  localStorage.removeItem(oldPlace);
  return true;
}

// hasKey reports whether this browser has had the link.
export async function hasKey() {
  key ??= await run('readonly', (store) => store.get('key'));
  return key !== undefined;
}

const message = (fields) => encoder.encode([protocol, ...fields].join('\n'));

// prove returns a MAC over fields, none of which contains a line break.
export async function prove(...fields) {
  return encode(await crypto.subtle.sign('HMAC', key, message(fields)));
}

// proves reports whether a MAC over fields was made with knowledge of the token.
export async function proves(mac, ...fields) {
  return crypto.subtle.verify('HMAC', key, decode(mac), message(fields));
}

export const sumOf = async (bytes) => encode(await crypto.subtle.digest('SHA-256', bytes));
export const newNonce = () => encode(crypto.getRandomValues(new Uint8Array(32)));

function encode(bytes) {
  return btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function decode(text) {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
}
