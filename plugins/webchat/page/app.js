// The chat page: history and events from the server, what the user writes, and a connection that is restored.

import { get, post, Refused, send, stream } from './api.js';
import { Composer } from './composer.js';
import { Conversations } from './conversations.js';
import { $ } from './element.js';
import { connection, drawer, frame, lock, showList } from './frame.js';
import { hasKey, takeKey } from './key.js';
import { Messages } from './messages.js';
import { Outbox } from './outbox.js';
import { Search } from './search.js';
import { Stranger } from './session.js';

const longestWait = 10_000;

const nameKey = 'clawhost.name'; // keeps the page's title until the next time

let name = localStorage.getItem(nameKey) ?? document.title;
let last = null; // the revision that this page has; null before the state is here
let oldest = 0; // the first message that is shown of the open conversation
let opened = 0; // counts the conversations that were opened
let linked = new AbortController();
let wake = () => {};
const lives = new Map(); // conversation → what goes on in it

frame();
entitle(name);

const messages = new Messages({
  retry: (id) => outbox.retry(id),
  discard: (id) => outbox.discard(id),
  press: (id, message, data) => post('api/buttons', { id, message, data }),
  earlier: () => history(oldest).catch(() => connection('offline')),
  busy: (busy) => composer.busy(busy),
});

const composer = new Composer({
  send: (text, files) => {
    messages.toEnd();
    outbox.add(conversations.current, text, files);
  },
  edit: (message, text) => post('api/edits', { id: crypto.randomUUID(), message, text }),
  last: () => messages.last(),
  stop: () => stop(),
  typing: (conversation, stopped) => post('api/typing', { conversation, stopped }).catch(() => {}), // a hint
});

const conversations = new Conversations({
  open: chosen,
  rename: (id, title) => attempt(send('PUT', `api/conversations/${id || 'main'}`, { title })),
  remove: async (id) => {
    outbox.forget(id);
    if (await attempt(send('DELETE', `api/conversations/${id}`, {})) && id === conversations.current) open('');
  },
  unread: (count) => (document.title = count ? `(${count}) ${name}` : name),
});

const search = new Search({
  find: (text) => get(`api/search?${new URLSearchParams({ text })}`),
  open: chosen,
});

const outbox = new Outbox((entry, outcome) => {
  if (entry.conversation !== conversations.current) return;
  if (outcome === 'discarded') messages.remove(entry.id);
  else messages.unsent({ ...entry, from: 'user', state: outcome === 'sent' ? 'accepted' : 'pending' });
});

function entitle(title) {
  name = title;
  $('title').textContent = title;
  document.title = title;
}

// attempt shows above the message box what failed.
async function attempt(promise) {
  try {
    await promise;
    return true;
  } catch (error) {
    composer.notice(error instanceof Refused || error instanceof Stranger ? error.message : 'The host cannot be reached.');
    return false;
  }
}

async function stop() {
  $('stop').disabled = true;
  if (!(await attempt(post('api/stop', { id: crypto.randomUUID(), conversation: conversations.current })))) $('stop').disabled = false;
}

// chosen opens what was chosen in the list beside the messages.
function chosen(id, seq) {
  open(id, seq);
  drawer(false);
  if (matchMedia('(pointer: fine)').matches) $('text').focus();
}

// open shows a conversation, which may be new and begin with its first message, at one of its messages or at its end.
function open(id, seq) {
  opened++;
  oldest = 0;
  conversations.open(id);
  window.history.replaceState(null, '', id ? `#c=${id}` : location.pathname);
  $('name').textContent = conversations.title();
  messages.clear();
  composer.open(id);
  messages.live(lives.get(id) ?? { typing: 0, draft: 0 });
  if (conversations.has(id)) reach(seq).catch(() => linked.abort());
  else showUnsent();
}

function showUnsent() {
  for (const entry of outbox.waiting(conversations.current)) messages.unsent({ ...entry, from: 'user', state: 'pending' });
}

// reach shows the newest messages of the open conversation and, if one is sought, all back to that one.
async function reach(seq) {
  const number = opened;
  let more = await history(0);
  while (seq < oldest && more && number === opened) more = await history(oldest, 200);
  if (seq && number === opened) messages.reveal(seq);
}

// history shows a page of the open conversation, and reports whether there are earlier ones.
async function history(before, limit = 50) {
  const number = opened;
  const answer = await get(`api/history?conversation=${conversations.current}&before=${before}&limit=${limit}`);
  if (number !== opened) return;
  messages.page(answer.messages);
  messages.more(answer.more);
  oldest = answer.messages[0]?.seq ?? oldest;
  showUnsent();
  return answer.more;
}

async function begin() {
  const state = await get('api/state');
  localStorage.setItem(nameKey, state.title);
  entitle(state.title);
  $('demo').hidden = !state.demo;
  composer.limits(state.limits);
  composer.commands.set(state.commands);
  conversations.set(state.conversations);
  if (last !== null && last <= state.last) return;
  last = state.last;
  open(location.hash.match(/^#c=([0-9a-f-]{36})$/)?.[1] ?? conversations.current);
}

const handlers = {
  message: (message) => {
    conversations.said(message);
    if (message.conversation === conversations.current) messages.show(message);
  },
  live: (live) => {
    lives.set(live.conversation, live);
    conversations.busy(live.conversation, live.typing > 0 || live.draft > 0);
    if (live.conversation === conversations.current) messages.live(live);
  },
  conversations: (list) => {
    const had = conversations.has(conversations.current);
    conversations.set(list);
    search.again();
    $('name').textContent = conversations.title();
    if (had && !conversations.has(conversations.current)) open('');
  },
  commands: (list) => composer.commands.set(list),
  reset: () => {
    last = 0;
    open('');
  },
  alive: () => outbox.wake(),
};

async function follow(signal) {
  await begin();
  for await (const { name, id, data } of stream(`api/events?after=${last}`, signal)) {
    connection('online');
    handlers[name]?.(data);
    if (id) last = id;
  }
}

// quiet shows nothing as running: a page without a connection does not know.
function quiet() {
  for (const id of lives.keys()) conversations.busy(id, false);
  lives.clear();
  messages.live({ typing: 0, draft: 0 });
}

// run keeps the page connected: with growing pauses, and at once when the network or the reader returns.
async function run() {
  for (let wait = 500; ; wait = Math.min(2 * wait, longestWait)) {
    linked = new AbortController();
    const before = last;
    let state = 'offline';
    try {
      await follow(linked.signal);
    } catch (error) {
      if (error instanceof Stranger) state = 'stranger';
    }
    if (last !== before) wait = 500;
    quiet();
    connection(state);
    await new Promise((resolve) => {
      wake = resolve;
      if (!linked.signal.aborted) setTimeout(resolve, wait * (0.5 + Math.random() / 2));
    });
  }
}

// A browser opens at most six connections to one server. Of several tabs, only the visible ones and the one seen last keep
// theirs.
const tabs = new BroadcastChannel('clawhost');
tabs.addEventListener('message', () => {
  if (document.hidden) linked.abort();
});
document.addEventListener('visibilitychange', () => {
  if (document.hidden) return;
  tabs.postMessage('seen');
  conversations.read();
  wake();
});
window.addEventListener('online', () => wake());
window.addEventListener('hashchange', async () => {
  if (await takeKey()) location.reload();
});

const begins = () => {
  open(crypto.randomUUID());
  drawer(false);
  $('text').focus();
};
$('new').addEventListener('click', begins);
document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || document.querySelector('dialog[open]') || !$('locked').hidden) return;
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    begins();
  } else if ((event.ctrlKey || event.metaKey) && event.shiftKey && !event.altKey && event.key.toLowerCase() === 'f') {
    event.preventDefault();
    showList();
    $('query').select();
  } else if (event.altKey && !event.ctrlKey && (event.key === 'ArrowUp' || event.key === 'ArrowDown')) {
    event.preventDefault();
    open(conversations.beside(event.key === 'ArrowUp' ? -1 : 1));
  } else if (event.key === 'Escape' && !event.isComposing) {
    if (!drawer(false)) composer.escape();
  }
});

await takeKey();
if (await hasKey()) {
  outbox.start();
  run();
} else {
  lock();
}
