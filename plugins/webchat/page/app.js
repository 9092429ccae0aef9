// The chat page: history and events from the server, what the user writes to it, and a connection that comes back.

import { dropToken, get, hasToken, post, Refused, stream, takeToken } from './api.js';
import { Outbox } from './outbox.js';
import { View } from './view.js';

const longestWait = 10_000;

let last = null; // the revision that this page has; null before the history is here
let oldest = 0;
let connection = new AbortController();
let wake = () => {};

const view = new View({
  send: (text) => outbox.add(text),
  retry: (id) => outbox.retry(id),
  discard: (id) => outbox.discard(id),
  press: (message, data) => press(message, data),
  earlier: () => page(`api/history?before=${oldest}`).catch(() => view.status('offline')),
});

const outbox = new Outbox((entry, outcome) => {
  if (outcome === 'discarded') view.remove(entry.id);
  else view.unsent({ ...entry, from: 'user', state: outcome === 'sent' ? 'accepted' : 'pending' });
});

// A press that fails leaves the button as it was.
async function press(message, data) {
  try {
    await post('api/buttons', { id: crypto.randomUUID(), message, data });
    return true;
  } catch {
    return false;
  }
}

async function page(path) {
  const answer = await get(path);
  view.title(answer.title);
  view.page(answer.messages);
  view.more(answer.more);
  oldest = answer.messages[0]?.seq ?? oldest;
  return answer;
}

async function follow(signal) {
  if (last === null) last = (await page('api/history')).last;
  for await (const event of stream(`api/events?after=${last}`, signal)) {
    view.status('online');
    if (event.name === 'message') view.show(event.data);
    if (event.name === 'typing') view.typing(event.data.ms);
    if (event.name === 'reset') {
      view.clear();
      last = 0;
    }
    if (event.id) last = event.id;
    if (event.name === 'alive') outbox.wake();
  }
}

// run keeps the page connected: with growing pauses, and at once when the network or the reader comes back.
async function run() {
  for (let wait = 500; ; wait = Math.min(2 * wait, longestWait)) {
    connection = new AbortController();
    const before = last;
    try {
      await follow(connection.signal);
    } catch (error) {
      if (error instanceof Refused && error.status === 401) {
        dropToken();
        view.lock(true);
        return;
      }
    }
    if (last !== before) wait = 500;
    view.typing(0);
    view.status('offline');
    await new Promise((resolve) => {
      wake = resolve;
      if (!connection.signal.aborted) setTimeout(resolve, wait * (0.5 + Math.random() / 2));
    });
  }
}

// A browser opens six connections to one server at most. Of several tabs, only those in view and the one seen last keep
// theirs.
const tabs = new BroadcastChannel('clawhost');
tabs.addEventListener('message', () => {
  if (document.hidden) connection.abort();
});
document.addEventListener('visibilitychange', () => {
  if (document.hidden) return;
  tabs.postMessage('seen');
  wake();
});
window.addEventListener('online', () => wake());
window.addEventListener('hashchange', () => {
  if (takeToken()) location.reload();
});

takeToken();
if (hasToken()) {
  outbox.start();
  run();
} else {
  view.lock(true);
}
