// The way to the server: requests and the stream of events.

import { begin } from './session.js';

// A stream that has been quiet for longer than this is dead: the server says that it lives every 15 seconds.
const quietLimit = 40_000;

// Refused is an answer of the server that is not the one asked for.
export class Refused extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }

  // Tells whether the same request may succeed later by itself.
  get passes() {
    return this.status === 401 || this.status === 429 || (this.status >= 500 && this.status !== 502);
  }
}

// The session that the stream was opened with. As long as the stream lives, so does the process that has proved itself, and the
// address is its own. Without a stream each request has the server prove itself first.
let streaming;

async function request(path, options) {
  return ask(streaming ?? await begin(), path, options);
}

async function ask(session, path, options) {
  const response = await session.fetch(path, options);
  if (response.ok) return response;
  if (response.status === 401 && streaming === session) streaming = undefined;
  const answer = await response.json().catch(() => ({}));
  throw new Refused(response.status, answer.error ?? response.statusText);
}

export async function get(path) {
  return (await request(path)).json();
}

export async function send(method, path, body) {
  const response = await request(path, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  return response.json();
}

export const post = (path, body) => send('POST', path, body);

// upload stores a file and returns {ref, kind, type, name, size}.
export async function upload(blob, name) {
  const response = await request(`api/files?name=${encodeURIComponent(name)}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/octet-stream' },
    body: blob,
  });
  return response.json();
}

// download returns a file as a blob of the type that the server gives it.
export async function download(ref) {
  return (await request(`api/files/${encodeURIComponent(ref)}`)).blob();
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
  let session;
  try {
    session = await begin();
    const response = await ask(session, path, { signal: AbortSignal.any([signal, quiet.signal]) });
    streaming = session;
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
    if (streaming === session) streaming = undefined;
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
