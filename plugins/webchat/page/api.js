// Access to the server: requests and the stream of events.

import { begin, Stranger } from './session.js';

// A stream that has been silent for longer than this is dead: the server sends a sign of life every 15 seconds.
const quietLimit = 40_000;

// Refused is a response of the server other than the expected one.
export class Refused extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }

  // Reports whether the same request may succeed later.
  get passes() {
    return this.status === 401 || this.status === 429 || (this.status >= 500 && this.status !== 502);
  }
}

// The open stream: its session, and what ends it. While it is open, the process that has proved itself runs and owns the
// address. Without a stream the server proves itself before each request.
let streaming;

// request returns the body of a response, all of it proven. If another program has answered, the stream ends as well, so that
// the server has to prove itself again.
async function request(path, options) {
  const open = streaming;
  try {
    return await whole(await ask(open?.session ?? await begin(), path, options));
  } catch (error) {
    if (error instanceof Stranger) open?.quiet.abort(error);
    if (error.status === 401 && streaming === open) streaming = undefined;
    throw error;
  }
}

async function ask(session, path, options) {
  const answer = await session.fetch(path, options);
  if (answer.status === 200) return answer;
  if (answer.status === 401) throw new Refused(401, 'The session is over.'); // without proof, but the next one begins with one
  const refusal = await whole(answer);
  const { error } = await parsed(refusal).catch(() => ({}));
  throw new Refused(answer.status, error ?? 'The host refused this.');
}

async function whole({ type, parts }) {
  const all = [];
  for await (const part of parts) all.push(part);
  return new Blob(all, { type });
}

const parsed = async (blob) => JSON.parse(await blob.text());

export const get = async (path) => parsed(await request(path));

export async function send(method, path, body) {
  return parsed(await request(path, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  }));
}

export const post = (path, body) => send('POST', path, body);

// upload stores a file and returns {ref, kind, type, name, size}.
export async function upload(blob, name) {
  return parsed(await request(`api/files?name=${encodeURIComponent(name)}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/octet-stream' },
    body: blob,
  }));
}

// download returns a file as a blob of the type that the server gives it.
export const download = (ref) => request(`api/files/${encodeURIComponent(ref)}`);

// stream yields the server's events {name, id, data} until the connection ends or signal aborts. EventSource cannot send a
// header.
export async function* stream(path, signal) {
  const quiet = new AbortController();
  let timer;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => quiet.abort(), quietLimit);
  };
  alive();
  let own;
  try {
    own = { session: await begin(), quiet };
    const { parts } = await ask(own.session, path, { signal: AbortSignal.any([signal, quiet.signal]) });
    streaming = own;
    const decoder = new TextDecoder();
    let buffer = '';
    for await (const part of parts) {
      alive();
      buffer += decoder.decode(part, { stream: true });
      const blocks = buffer.split('\n\n');
      buffer = blocks.pop();
      for (const block of blocks) yield parse(block);
    }
  } catch (error) {
    throw quiet.signal.reason ?? error;
  } finally {
    clearTimeout(timer);
    if (streaming === own) streaming = undefined;
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
