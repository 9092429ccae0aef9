// Who is at the other end. Another program may hold the address while the host is down: nothing is told to a server that has not
// proved that it knows the token, and the token is told to nobody.

import { newNonce, prove, proves, sumOf } from './key.js';

const patience = 10_000;

// Stranger is thrown where whoever answers has proved nothing.
export class Stranger extends Error {
  constructor() {
    super('Another program answers at this address. Nothing was sent to it.');
  }
}

// Session makes requests of a server that has proved itself.
export class Session {
  #id;
  #count = 0;

  constructor(id) {
    this.#id = id;
  }

  // fetch makes a request that nobody can change, make again, or make elsewhere. Body is a string or a blob.
  async fetch(path, { method = 'GET', headers, body = '', signal } = {}) {
    const { pathname, search } = new URL(path, location);
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : await body.arrayBuffer();
    const sum = await sumOf(bytes);
    const number = ++this.#count;
    const proof = await prove('request', location.host, this.#id, number, method, pathname + search, sum);
    return fetch(path, {
      method,
      headers: { ...headers, Authorization: `Clawhost ${this.#id}:${number}:${sum}:${proof}` },
      body: body === '' ? undefined : bytes,
      redirect: 'error',
      signal,
    });
  }
}

// begin has the server prove itself.
export async function begin() {
  const nonce = newNonce();
  const response = await fetch('api/session', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ nonce }),
    redirect: 'error',
    signal: AbortSignal.timeout(patience),
  });
  if (response.status === 503) throw new Error('The host is busy.');
  const { session, proof } = await response.json().catch(() => ({}));
  const holds = response.ok && typeof session === 'string' && /^[\w-]{1,64}$/.test(session) && typeof proof === 'string' &&
    await proves(proof, 'server', location.host, nonce, session).catch(() => false);
  if (!holds) throw new Stranger();
  return new Session(session);
}
