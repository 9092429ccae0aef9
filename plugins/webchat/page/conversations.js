// The list of conversations beside the messages.

import { $, button, el } from './element.js';

const seenKey = 'clawhost.seen';

export class Conversations {
  #list = [];
  #open = '';
  #busy = new Set();
  #seen = JSON.parse(localStorage.getItem(seenKey) ?? 'null'); // id → the last that was read in it
  #actions;
  #renaming;

  // actions: {open(id), rename(id, title), remove(id), unread(count)}
  constructor(actions) {
    this.#actions = actions;
  }

  // set takes the server's list of {id, title, at, last}.
  set(list) {
    this.#list = list;
    if (!this.#seen) {
      this.#seen = {};
      for (const { id, last } of list) this.#seen[id] = last; // in a new browser nothing is news
    }
    for (const id of Object.keys(this.#seen)) if (!this.has(id)) delete this.#seen[id];
    this.#render();
  }

  has(id) {
    return this.#list.some((each) => each.id === id);
  }

  get current() {
    return this.#open;
  }

  title() {
    return this.#list.find(({ id }) => id === this.#open)?.title ?? 'New conversation';
  }

  open(id) {
    this.#open = id;
    this.read();
  }

  // said records a message of a conversation.
  said({ conversation, from, seq, at, silent }) {
    const item = this.#list.find(({ id }) => id === conversation);
    if (!item) return;
    if (seq > item.last && from === 'agent' && !silent) item.last = seq;
    if (at > item.at) item.at = at;
    this.read();
  }

  // busy records whether somebody writes in a conversation.
  busy(id, busy) {
    if (busy === this.#busy.has(id)) return;
    if (busy) this.#busy.add(id);
    else this.#busy.delete(id);
    this.#render();
  }

  // read records that the open conversation has been read, if the page is visible.
  read() {
    const item = this.#list.find(({ id }) => id === this.#open);
    if (item && !document.hidden && this.#seen) {
      this.#seen[item.id] = item.last;
      localStorage.setItem(seenKey, JSON.stringify(this.#seen));
    }
    this.#render();
  }

  // beside returns the conversation next to the open one.
  beside(step) {
    const all = this.#sorted();
    const at = all.findIndex(({ id }) => id === this.#open);
    return all[(at + step + all.length) % all.length]?.id;
  }

  #unread({ id, last }) {
    return last > (this.#seen?.[id] ?? 0);
  }

  #sorted() {
    return this.#list.toSorted((a, b) => (a.id === '' ? -1 : b.id === '' ? 1 : b.at.localeCompare(a.at)));
  }

  #render() {
    this.#actions.unread(this.#list.filter((each) => this.#unread(each)).length);
    if (this.#renaming) return;
    const focused = document.activeElement?.closest('#conversations li')?.dataset.id;
    const items = this.#sorted().map((each) => this.#item(each));
    $('conversations').replaceChildren(...items);
    if (focused !== undefined) items.find(({ dataset }) => dataset.id === focused)?.querySelector('button').focus();
  }

  #item({ id, title, last }) {
    const name = el('span', { className: 'label' }, title);
    const open = el('button', { type: 'button', className: 'open', title }, name);
    open.addEventListener('click', () => this.#actions.open(id));
    const item = el('li', { 'data-id': id }, open);
    if (id === this.#open) open.setAttribute('aria-current', 'page');
    if (this.#busy.has(id)) open.append(el('span', { className: 'working', role: 'img', 'aria-label': 'an answer is being written' }));
    else if (this.#unread({ id, last })) open.append(el('span', { className: 'unread', role: 'img', 'aria-label': 'unread' }));
    const rename = button(`Rename ${title}`, { icon: 'pencil', className: 'icon small' });
    rename.addEventListener('click', () => this.#rename(item, id, title));
    item.append(rename);
    if (id !== '') {
      const remove = button(`Delete ${title}`, { icon: 'trash', className: 'icon small' });
      remove.addEventListener('click', () => this.#remove(id, title));
      item.append(remove);
    }
    return item;
  }

  #rename(item, id, title) {
    const input = el('input', { value: title, maxLength: 80, 'aria-label': 'Title' });
    this.#renaming = id;
    item.replaceChildren(input);
    input.select();
    input.focus();
    const done = (save) => {
      if (this.#renaming === undefined) return;
      this.#renaming = undefined;
      if (save && input.value.trim() && input.value !== title) this.#actions.rename(id, input.value);
      this.#render();
      [...$('conversations').children].find(({ dataset }) => dataset.id === id)?.querySelector('button').focus();
    };
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') done(true);
      if (event.key === 'Escape') done(false);
      event.stopPropagation();
    });
    input.addEventListener('blur', () => done(true));
  }

  #remove(id, title) {
    const dialog = $('confirm');
    $('question').textContent = `Delete “${title}”?`;
    dialog.returnValue = 'no';
    dialog.addEventListener('close', () => dialog.returnValue === 'yes' && this.#actions.remove(id), { once: true });
    dialog.showModal();
  }
}
