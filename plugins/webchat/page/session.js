// The identity of the server. Another program may own the address while the host is down: nothing is sent to a server that has
// not proved that it knows the token, nothing is accepted from it, and the token is sent to nobody.

import { newNonce, prove, proves, sumOf } from './key.js';

const patience = 10_000;
// A response's body is a sequence of parts, the last of which is empty. A line with its proof and size precedes each.
const headSize = 51;
const longestPart = 64 << 10;

// Stranger is thrown if the server has proved nothing.
export class Stranger extends Error {
  constructor() {
    super('Nothing was sent: the link of this page is old, or another program answers at this address.');
  }
}

// Session makes requests to a server that has proved itself.
export class Session {
  #id;
  #count = 0;

  constructor(id) {
    this.#id = id;
  }

  // fetch makes a request that nobody can change, repeat or redirect. Body is a string or a blob. The result is
  // {status, type, parts}: status and type are proven once a part has arrived, and the response is complete when the parts end. A
  // 401, which says that the session is over, has no proof.
  async fetch(path, { method = 'GET', headers, body = '', signal } = {}) {
    const { pathname, search } = new URL(path, location);
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : await body.arrayBuffer();
    const sum = await sumOf(bytes);
    const number = ++this.#count;
    const proof = await prove('request', location.host, this.#id, number, method, pathname + search, sum);
    const response = await fetch(path, {
      method,
      headers: { ...headers, Authorization: `Clawhost ${this.#id}:${number}:${sum}:${proof}` },
      body: body === '' ? undefined : bytes,
      redirect: 'error',
      signal,
    });
    const { status, body: answer } = response;
    const type = response.headers.get('Content-Type');
    return { status, type, parts: proven(answer, [location.host, this.#id, number, status, type]) };
  }
}

// proven yields the parts of a response, each once it has proved that it is the server's, and the next of this response.
async function* proven(body, fields) {
  if (!body) throw new Stranger();
  const reader = body.getReader();
  let bytes = new Uint8Array();
  const take = async (size) => {
    while (bytes.length < size) {
      const { value, done } = await reader.read();
      if (done) throw new Stranger(); // a host that dies does not end its answer
      const before = bytes;
      bytes = new Uint8Array(before.length + value.length);
      bytes.set(before);
      bytes.set(value, before.length);
    }
    const taken = bytes.slice(0, size);
    bytes = bytes.subarray(size);
    return taken;
  };
  try {
    for (let place = 0; ; place++) {
      const [, proof, hex] = new TextDecoder().decode(await take(headSize)).match(/^([\w-]{43}) ([0-9a-f]{6})\n$/) ?? [];
      const size = parseInt(hex, 16);
      if (!(size <= longestPart)) throw new Stranger();
      const part = await take(size);
      if (!(await proves(proof, 'answer', ...fields, place, await sumOf(part)))) throw new Stranger();
      if (!size) return;
      yield part;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// begin makes the server prove itself.
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
