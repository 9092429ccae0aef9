// What the user wrote and the host does not have yet. It is kept over reloads, sent in order, and sent again under the
// same id until the server has answered, so that each message arrives once.

import { post, Refused } from './api.js';

const prefix = 'clawhost.unsent.';
const longestWait = 15_000;

export class Outbox {
  #entries = [];
  #sending = false;
  #wake = () => {};
  #changed;

  // changed is called with an entry {id, text, at, error} and what became of it: "waiting", "failed", "sent", "discarded".
  constructor(changed) {
    this.#changed = changed;
    for (const key of Object.keys(localStorage).filter((key) => key.startsWith(prefix))) {
      this.#entries.push(JSON.parse(localStorage.getItem(key)));
    }
    this.#entries.sort((a, b) => a.at - b.at);
  }

  // start shows what is left from before and sends it.
  start() {
    for (const entry of this.#entries) this.#changed(entry, 'waiting');
    this.#send();
  }

  add(text) {
    const entry = { id: crypto.randomUUID(), text, at: Date.now() };
    localStorage.setItem(prefix + entry.id, JSON.stringify(entry));
    this.#entries.push(entry);
    this.#changed(entry, 'waiting');
    this.#send();
  }

  retry(id) {
    const entry = this.#entries.find((entry) => entry.id === id);
    if (!entry) return;
    delete entry.error;
    this.#changed(entry, 'waiting');
    this.#send();
  }

  discard(id) {
    const entry = this.#entries.find((entry) => entry.id === id);
    if (entry) this.#done(entry, 'discarded');
  }

  // wake tries at once, when the connection is back.
  wake() {
    this.#wake();
  }

  #done(entry, outcome) {
    localStorage.removeItem(prefix + entry.id);
    this.#entries = this.#entries.filter((other) => other !== entry);
    this.#changed(entry, outcome);
  }

  async #send() {
    if (this.#sending) return;
    this.#sending = true;
    let wait = 1000;
    for (let entry; (entry = this.#entries.find((entry) => !entry.error)); ) {
      try {
        await post('api/messages', { id: entry.id, text: entry.text });
        this.#done(entry, 'sent');
        wait = 1000;
      } catch (error) {
        if (error instanceof Refused && error.status === 422) {
          // The server keeps it, marked as refused.
          this.#done(entry, 'sent');
        } else if (error instanceof Refused && error.status === 401) {
          break; // it waits for a page with the right token
        } else if (error instanceof Refused && !error.passes) {
          entry.error = error.message;
          this.#changed(entry, 'failed');
        } else {
          await this.#pause(wait);
          wait = Math.min(2 * wait, longestWait);
        }
      }
    }
    this.#sending = false;
  }

  #pause(wait) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, wait);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
