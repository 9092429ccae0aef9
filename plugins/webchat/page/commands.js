// The list of slash commands that opens above the message box while one is being typed.

import { $, el } from './element.js';

// words returns a command's summary, in which backticks enclose code.
function words(summary) {
  const parts = summary.split('`');
  if (parts.length % 2 === 0) return [summary];
  return parts.map((part, at) => (at % 2 ? el('code', {}, part) : part));
}

export class Commands {
  #all = [];
  #found = [];
  #at = 0;
  #pick;

  // pick is called with the chosen command.
  constructor(pick) {
    this.#pick = pick;
    $('commands').addEventListener('mousedown', (event) => {
      event.preventDefault(); // the text keeps the focus
      const item = event.target.closest('li');
      if (item) this.#choose(this.#found[Number(item.dataset.at)]);
    });
  }

  set(list) {
    this.#all = list ?? [];
  }

  get open() {
    return !$('commands').hidden;
  }

  // look opens the list for a text that begins a command, and closes it for any other.
  look(text) {
    const begun = text.match(/^\/([a-z0-9_-]*)$/i)?.[1].toLowerCase().replaceAll('-', '_');
    this.#found = begun === undefined ? [] : this.#all.filter(({ name }) => name.startsWith(begun));
    if (this.#found.length === 1 && this.#found[0].name === begun) this.#found = [];
    this.#at = 0;
    this.#show();
  }

  close() {
    this.#found = [];
    this.#show();
  }

  // key handles a key of the list and reports whether it was one.
  key(event) {
    if (!this.open || event.isComposing) return false;
    const count = this.#found.length;
    if (event.key === 'ArrowDown') this.#at = (this.#at + 1) % count;
    else if (event.key === 'ArrowUp') this.#at = (this.#at + count - 1) % count;
    else if (event.key === 'Escape') this.#found = [];
    else if (event.key === 'Tab' || event.key === 'Enter') return this.#choose(this.#found[this.#at]);
    else return false;
    this.#show();
    return true;
  }

  #choose(command) {
    this.close();
    this.#pick(command);
    return true;
  }

  #show() {
    const list = $('commands');
    const items = this.#found.map(({ name, usage, summary }, at) => el('li', {
      'role': 'option', 'id': `command-${at}`, 'aria-selected': String(at === this.#at), 'data-at': String(at),
    }, el('span', { className: 'usage' }, usage || `/${name}`), el('span', { className: 'faint' }, ...words(summary ?? ''))));
    list.replaceChildren(...items);
    list.hidden = items.length === 0;
    $('text').ariaExpanded = String(items.length > 0);
    if (items.length) $('text').setAttribute('aria-activedescendant', `command-${this.#at}`);
    else $('text').removeAttribute('aria-activedescendant');
    items[this.#at]?.scrollIntoView({ block: 'nearest' });
  }
}
