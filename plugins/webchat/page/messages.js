// The messages of the open conversation, ordered by seq; those that the server does not know yet come last, and the unfinished
// answer below them.

import { $, el } from './element.js';
import { seed } from './files.js';
import { fill } from './message.js';
import { copyable, write } from './prose.js';

export class Messages {
  #items = new Map(); // id → li
  #shown = new Map(); // id → message
  #actions;
  #stick = true; // whether the end is in view, and stays so when something is added
  #timers = {};

  // actions: {retry(id), discard(id), press(id, message, data), earlier()}
  constructor(actions) {
    this.#actions = actions;
    $('earlier').addEventListener('click', () => actions.earlier());
    $('latest').addEventListener('click', () => this.toEnd(matchMedia('(prefers-reduced-motion: reduce)').matches ? 'instant' : 'smooth'));
    $('scroll').addEventListener('scroll', () => this.#scrolled(), { passive: true });
    new ResizeObserver(() => this.#stick && this.toEnd()).observe($('scroll'));
    new ResizeObserver(() => this.#stick && this.toEnd()).observe($('scroll').firstElementChild);
    copyable($('scroll'));
  }

  clear() {
    this.#items.clear();
    this.#shown.clear();
    $('messages').replaceChildren();
    this.live({ typing: 0, draft: 0 });
    this.more(false);
    this.#stick = true;
  }

  more(more) {
    $('earlier').hidden = !more;
  }

  // page shows earlier messages: above the others, without moving what is visible.
  page(messages) {
    const scroll = $('scroll');
    const below = scroll.scrollHeight - scroll.scrollTop;
    $('messages').ariaBusy = 'true';
    for (const message of messages) this.#put(message);
    this.#settle();
    $('messages').ariaBusy = 'false';
    if (!this.#stick) scroll.scrollTop = scroll.scrollHeight - below;
  }

  // show inserts or changes a message. A new one of the agent replaces the draft.
  show(message) {
    if (message.from === 'agent' && !this.#items.has(message.id) && !$('draft').hidden) {
      const body = $('draft').firstElementChild;
      $('draft').replaceChildren(el('div', { className: 'body prose' }));
      $('draft').hidden = true;
      this.#put(message, body);
    } else {
      this.#put(message);
    }
    this.#settle();
  }

  // unsent shows a message that the server has not confirmed, unless it has by now.
  unsent(message) {
    for (const file of message.files) if (file.ref) seed(file.ref, file.blob);
    if (!this.#items.get(message.id)?.dataset.seq) this.show(message);
  }

  remove(id) {
    const item = this.#items.get(id);
    if (!item || item.dataset.seq) return;
    item.remove();
    this.#items.delete(id);
    this.#settle();
  }

  // live shows the agent at work: for how many milliseconds it has been writing, and what, as HTML.
  live({ typing, draft, html }) {
    clearTimeout(this.#timers.typing);
    clearTimeout(this.#timers.draft);
    $('typing').hidden = typing <= 0 && draft <= 0;
    $('draft').hidden = draft <= 0 || !html;
    write($('draft').firstElementChild, $('draft').hidden ? '' : html);
    if (typing > 0) this.#timers.typing = setTimeout(() => this.live({ typing: 0, draft, html }), typing);
    if (draft > 0) this.#timers.draft = setTimeout(() => this.live({ typing, draft: 0 }), draft);
    this.#actions.busy(typing > 0 || draft > 0);
    this.#settle();
  }

  // last returns the id of the user's newest message that can still be changed: nothing was written after it.
  last() {
    const item = $('messages').lastElementChild;
    const message = item && this.#shown.get(item.dataset.id);
    return message?.from === 'user' && message.state === 'accepted' && message.text ? message : undefined;
  }

  // reveal scrolls to a message.
  reveal(seq) {
    const item = [...$('messages').children].find(({ dataset }) => Number(dataset.seq) === seq);
    if (!item) return;
    this.#stick = false;
    item.scrollIntoView({ block: 'center' });
    item.classList.add('revealed');
  }

  toEnd(behavior = 'instant') {
    const scroll = $('scroll');
    this.#stick = true;
    scroll.scrollTo({ top: scroll.scrollHeight, behavior });
  }

  #put(message, body) {
    let item = this.#items.get(message.id);
    const moves = !item || item.dataset.seq !== String(message.seq ?? '');
    item ??= el('li');
    fill(item, message, this.#actions, body);
    this.#items.set(message.id, item);
    this.#shown.set(message.id, message);
    this.#quote(item, message);
    if (!moves && item.isConnected) return;
    // Most messages are new: look for the place from the end.
    const order = (li) => Number(li.dataset.seq ?? Infinity);
    let after = $('messages').lastElementChild;
    while (after && (after === item || order(after) > order(item))) after = after.previousElementSibling;
    if (after?.nextElementSibling === item) return;
    if (after) after.after(item);
    else $('messages').prepend(item);
  }

  // #quote shows the beginning of the message that another one replies to, unless that is the one above.
  #quote(item, message) {
    item.querySelector('.quote')?.remove();
    const answered = this.#items.get(message.reply_to);
    if (!answered || answered === $('messages').lastElementChild || answered === item.previousElementSibling) return;
    const quote = el('button', { type: 'button', className: 'quote' }, answered.querySelector('.body').textContent.slice(0, 160));
    quote.addEventListener('click', () => answered.scrollIntoView({ block: 'center' }));
    item.prepend(quote);
  }

  // #settle updates what depends on all messages: the days, the empty page, the scroll position.
  #settle() {
    let day = '';
    for (const item of $('messages').children) {
      const own = dayOf(item.dataset.at);
      if (own !== day) item.dataset.day = own;
      else delete item.dataset.day;
      day = own;
    }
    $('empty').hidden = this.#items.size > 0 || !$('draft').hidden;
    if (this.#stick) this.toEnd();
  }

  #scrolled() {
    const scroll = $('scroll');
    this.#stick = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
    $('latest').hidden = this.#stick;
  }
}

function dayOf(at) {
  const date = new Date(Number.isNaN(Number(at)) ? at : Number(at));
  const today = new Date();
  const yesterday = new Date(today);
  yesterday.setDate(today.getDate() - 1);
  if (date.toDateString() === today.toDateString()) return 'Today';
  if (date.toDateString() === yesterday.toDateString()) return 'Yesterday';
  return date.toLocaleDateString([], { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });
}
