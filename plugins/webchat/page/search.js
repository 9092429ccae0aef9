// The search in all conversations: a field above their list, and what it found in the place of the list.

import { $, el } from './element.js';

const pause = 200; // milliseconds without a key before the server is asked

export class Search {
  #actions;
  #timer;
  #asked = 0; // counts the searches: only the answer to the last one is shown

  // actions: {find(text), open(conversation, seq)}
  constructor(actions) {
    this.#actions = actions;
    $('query').addEventListener('input', () => this.#typed());
    $('query').addEventListener('keydown', (event) => this.#key(event));
    $('found').addEventListener('keydown', (event) => this.#key(event));
    $('search').addEventListener('submit', (event) => {
      event.preventDefault();
      this.#found()[0]?.click();
    });
  }

  // again repeats the search, if there is one: the conversations have changed.
  again() {
    if (this.#text) this.#ask();
  }

  get #text() {
    return $('query').value.trim();
  }

  #found() {
    return [...$('found').querySelectorAll('button')];
  }

  #typed() {
    clearTimeout(this.#timer);
    this.#asked++;
    if (this.#text) this.#timer = setTimeout(() => this.#ask(), pause);
    else this.#show([], '');
  }

  async #ask() {
    const asked = ++this.#asked;
    const words = this.#text.toLowerCase().split(/\s+/);
    let found = [];
    let state;
    try {
      ({ found } = await this.#actions.find(this.#text));
      state = found.length ? `${found.length} found` : 'Nothing found.';
    } catch {
      state = 'The host cannot be reached.';
    }
    if (asked === this.#asked) this.#show(found, state, words);
  }

  #show(found, state, words) {
    $('searched').textContent = state;
    $('searched').hidden = !state;
    $('found').hidden = !found.length;
    $('conversations').hidden = Boolean(state);
    $('found').replaceChildren(...found.map(({ conversation, title, at, seq, excerpt }) => {
      const day = el('time', { className: 'faint', dateTime: at }, new Date(at).toLocaleDateString([], { day: 'numeric', month: 'short' }));
      const lines = [el('span', { className: 'line' }, el('span', { className: 'label' }, ...(seq ? [title] : withMarks(title, words))), day)];
      if (excerpt) lines.push(el('span', { className: 'excerpt' }, ...withMarks(excerpt, words)));
      const open = el('button', { type: 'button', className: 'open' }, ...lines);
      open.addEventListener('click', () => this.#actions.open(conversation, seq));
      return el('li', {}, open);
    }));
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
    const all = [$('query'), ...this.#found()];
    const at = all.indexOf(document.activeElement);
    if (event.key === 'ArrowDown') all[Math.min(at + 1, all.length - 1)].focus();
    else if (event.key === 'ArrowUp') all[Math.max(at - 1, 0)].focus();
    else if (event.key === 'Escape' && $('query').value) {
      $('query').value = '';
      this.#typed();
      $('query').focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

// withMarks returns a text in which words are marked.
function withMarks(text, words) {
  const pattern = new RegExp(`(${words.map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})`, 'giu');
  return text.split(pattern).map((part, at) => (at % 2 ? el('mark', {}, part) : part));
}
