// Messages that the host does not have yet. They are kept over reloads, sent in order, and sent again under the same id until
// the server has answered, so that each arrives once.

import { post, Refused, upload } from './api.js';
import { drop, keep, kept } from './unsent.js';

const longestWait = 15_000;

export class Outbox {
  #entries = [];
  #sending = false;
  #wake = () => {};
  #changed;

  // changed is called with an entry {id, conversation, text, files, at, error} and its state: "waiting", "failed", "sent",
  // "discarded". Files are {name, type, size, kind, blob} and get a ref once they are uploaded.
  constructor(changed) {
    this.#changed = changed;
  }

  // start continues with what was left before.
  async start() {
    const before = await kept();
    this.#entries = [...before, ...this.#entries]; // something may have been written meanwhile
    for (const entry of before) this.#changed(entry, entry.error ? 'failed' : 'waiting');
    this.#send();
  }

  // waiting returns the entries of a conversation.
  waiting(conversation) {
    return this.#entries.filter((entry) => entry.conversation === conversation);
  }

  async add(conversation, text, files) {
    const entry = { id: crypto.randomUUID(), conversation, text, files, at: Date.now() };
    this.#entries.push(entry);
    this.#changed(entry, 'waiting');
    await keep(entry);
    this.#send();
  }

  retry(id) {
    const entry = this.#entries.find((entry) => entry.id === id);
    if (!entry) return;
    delete entry.error;
    keep(entry);
    this.#changed(entry, 'waiting');
    this.#send();
  }

  discard(id) {
    const entry = this.#entries.find((entry) => entry.id === id);
    if (entry) this.#done(entry, 'discarded');
  }

  // forget discards the entries of a deleted conversation.
  forget(conversation) {
    for (const entry of this.waiting(conversation)) this.#done(entry, 'discarded');
  }

  // wake tries again at once, when the connection is back.
  wake() {
    this.#wake();
  }

  #done(entry, outcome) {
    drop(entry.id);
    this.#entries = this.#entries.filter((other) => other !== entry);
    this.#changed(entry, outcome);
  }

  async #send() {
    if (this.#sending) return;
    this.#sending = true;
    let wait = 1000;
    for (let entry; (entry = this.#entries.find((entry) => !entry.error)); ) {
      try {
        await this.#deliver(entry);
        this.#done(entry, 'sent');
        wait = 1000;
      } catch (error) {
        if (!this.#entries.includes(entry)) continue; // discarded meanwhile
        if (error instanceof Refused && error.status === 422) {
          // The server keeps it, marked as refused.
          this.#done(entry, 'sent');
        } else if (error instanceof Refused && !error.passes) {
          if (error.status === 410) for (const file of entry.files) delete file.ref;
          entry.error = error.message;
          keep(entry);
          this.#changed(entry, 'failed');
        } else {
          await this.#pause(wait);
          wait = Math.min(2 * wait, longestWait);
        }
      }
    }
    this.#sending = false;
  }

  async #deliver(entry) {
    for (const file of entry.files) {
      if (file.ref) continue;
      Object.assign(file, await upload(file.blob, file.name));
      await keep(entry);
    }
    const { id, conversation, text, files } = entry;
    await post('api/messages', { id, conversation, text, files: files.map((file) => file.ref) });
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
