// The way to the server: the token, requests and the stream of events.

const tokenKey = 'clawhost.token';

// A stream that has been quiet for longer than this is dead: the server says that it lives every 15 seconds.
const quietLimit = 40_000;

// Refused is an answer of the server that is not the one asked for.
export class Refused extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }

  // Tells whether the same request may succeed later.
  get passes() {
    return this.status === 429 || this.status >= 500;
  }
}

// takeToken keeps the token that a link brought and takes it out of the address bar. It tells whether there was one.
export function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (!token) return false;
  localStorage.setItem(tokenKey, token);
  history.replaceState(null, '', location.pathname);
  return true;
}

export const hasToken = () => localStorage.getItem(tokenKey) !== null;
export const dropToken = () => localStorage.removeItem(tokenKey);

async function request(path, options = {}) {
  const headers = { ...options.headers, Authorization: `Bearer ${localStorage.getItem(tokenKey) ?? ''}` };
  const response = await fetch(path, { ...options, headers, cache: 'no-store', credentials: 'omit' });
  if (!response.ok) {
    const answer = await response.json().catch(() => ({}));
    throw new Refused(response.status, answer.error ?? `The server answered ${response.status}.`);
  }
  return response;
}

export async function get(path) {
  return (await request(path)).json();
}

export async function post(path, body) {
  const response = await request(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  return response.json();
}

// stream yields the server's events {name, id, data} until the connection ends or signal aborts. EventSource would do,
// could it send a header.
export async function* stream(path, signal) {
  const quiet = new AbortController();
  let timer;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => quiet.abort(), quietLimit);
  };
  alive();
  try {
    const response = await request(path, { signal: AbortSignal.any([signal, quiet.signal]) });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let buffer = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      alive();
      buffer += value;
      const blocks = buffer.split('\n\n');
      buffer = blocks.pop();
      for (const block of blocks) yield parse(block);
    }
  } finally {
    clearTimeout(timer);
  }
}

function parse(block) {
  const event = { name: 'alive' };
  for (const line of block.split('\n')) {
    const [, field, value] = line.match(/^(\w*): ?(.*)$/) ?? [];
    if (field === 'event') event.name = value;
    if (field === 'id') event.id = Number(value);
    if (field === 'data') event.data = JSON.parse(value);
  }
  return event;
}
