// The message box: the text, the files beside it, the keys.

import { Commands } from './commands.js';
import { $, sizeOf } from './element.js';
import { preview } from './files.js';
import { Typing } from './typing.js';

const draftKey = 'clawhost.draft.';

export class Composer {
  #actions;
  #typing;
  #conversation = '';
  #files = []; // {name, type, size, kind, blob}
  #kept = new Map(); // conversation → files, while another one is open
  #editing; // the message that is changed
  #limits = { files: 10, file_bytes: 20 << 20, text_bytes: 255 << 10 };

  // actions: {send(text, files), edit(message, text), last(), stop(), typing(conversation, stopped)}
  constructor(actions) {
    this.#actions = actions;
    this.#typing = new Typing(actions.typing);
    this.commands = new Commands(({ name }) => this.#write(`/${name} `));
    $('text').addEventListener('input', () => {
      this.#changed();
      if (!this.#editing) this.#typing.wrote(this.#conversation, $('text').value);
    });
    $('text').addEventListener('keydown', (event) => this.#key(event));
    $('text').addEventListener('blur', () => this.commands.close());
    $('composer').addEventListener('submit', (event) => {
      event.preventDefault();
      this.#submit();
    });
    $('stop').addEventListener('click', () => actions.stop());
    $('cancel').addEventListener('click', () => this.#edit(undefined));
    this.#takesFiles();
  }

  limits(limits) {
    this.#limits = limits;
    $('attach').title = `Attach files: ${limits.files} at most, ${sizeOf(limits.file_bytes)} each`;
  }

  // open switches to a conversation, with its unfinished message.
  open(conversation) {
    this.#edit(undefined);
    this.#typing.stopped();
    this.#kept.set(this.#conversation, this.#files);
    this.#conversation = conversation;
    this.#files = this.#kept.get(conversation) ?? [];
    this.#showFiles();
    this.notice('');
    this.#write(sessionStorage.getItem(draftKey + conversation) ?? '');
  }

  busy(busy) {
    $('stop').hidden = !busy;
    if (!busy) $('stop').disabled = false;
  }

  // notice shows a text above the message box; an empty one removes it.
  notice(words) {
    $('notice').textContent = words;
    $('notice').hidden = !words;
  }

  // escape does what Escape means here, and reports whether it meant anything.
  escape() {
    if (this.#editing) this.#edit(undefined);
    else if (!$('stop').hidden && !$('stop').disabled) this.#actions.stop();
    else if (!$('notice').hidden) this.notice('');
    else return false;
    return true;
  }

  #write(text) {
    $('text').value = text;
    this.#changed();
    if (matchMedia('(pointer: fine)').matches || text) $('text').focus();
  }

  #changed() {
    const text = $('text');
    text.style.height = 'auto';
    text.style.height = `${text.scrollHeight}px`;
    $('send').disabled = !text.value.trim() && !this.#files.length;
    if (!this.#editing) {
      if (text.value) sessionStorage.setItem(draftKey + this.#conversation, text.value);
      else sessionStorage.removeItem(draftKey + this.#conversation);
    }
    this.commands.look(this.#editing ? '' : text.value);
  }

  #key(event) {
    if (this.commands.key(event)) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    const touch = matchMedia('(pointer: coarse)').matches;
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing && !touch) {
      event.preventDefault();
      this.#submit();
    } else if (event.key === 'ArrowUp' && !$('text').value && !this.#files.length) {
      const last = this.#actions.last();
      if (!last) return;
      event.preventDefault();
      this.#edit(last);
    }
  }

  #submit() {
    const text = $('text').value;
    if (!text.trim() && !this.#files.length) return;
    if (new TextEncoder().encode(text).length > this.#limits.text_bytes) {
      this.notice(`This is longer than ${sizeOf(this.#limits.text_bytes)}: attach it as a file.`);
      return;
    }
    this.notice('');
    if (this.#editing) {
      this.#saveEdit(text);
      return;
    }
    const files = this.#files;
    this.#files = [];
    this.#showFiles();
    this.#write('');
    this.#typing.sent();
    this.#actions.send(text, files);
  }

  #edit(message) {
    if (!message && !this.#editing) return;
    this.#editing = message;
    $('editing').hidden = !message;
    $('composer').classList.toggle('edits', Boolean(message));
    this.#write(message?.text ?? '');
  }

  async #saveEdit(text) {
    const message = this.#editing;
    try {
      if (text !== message.text) await this.#actions.edit(message.id, text);
      this.#edit(undefined);
    } catch (error) {
      if (this.#editing !== message) return;
      this.#edit(undefined);
      this.#write(text);
      this.notice(`${error.message} Send it as a new one, or press Escape.`);
    }
  }

  #takesFiles() {
    $('attach').addEventListener('click', () => $('files').click());
    $('files').addEventListener('change', () => {
      this.#attach([...$('files').files]);
      $('files').value = '';
    });
    $('text').addEventListener('paste', (event) => {
      const files = [...event.clipboardData.files];
      if (!files.length) return;
      event.preventDefault();
      this.#attach(files);
    });
    const brings = (event) => event.dataTransfer?.types.includes('Files');
    const over = (shown) => ($('drop').hidden = !shown);
    document.addEventListener('dragover', (event) => {
      if (!brings(event)) return;
      event.preventDefault();
      over(true);
    });
    document.addEventListener('dragleave', (event) => !event.relatedTarget && over(false));
    document.addEventListener('drop', (event) => {
      if (!brings(event)) return;
      event.preventDefault();
      over(false);
      this.#attach([...event.dataTransfer.files]);
    });
  }

  #attach(files) {
    const troubles = [];
    for (const blob of files) {
      if (blob.size > this.#limits.file_bytes) troubles.push(`${blob.name} is ${sizeOf(blob.size)} large; a file may have ${sizeOf(this.#limits.file_bytes)}.`);
      else if (!blob.size) troubles.push(`${blob.name} is empty, or a folder.`);
      else if (this.#files.length >= this.#limits.files) troubles.push(`${blob.name} is one too many: a message may have ${this.#limits.files} files.`);
      else this.#files.push({ name: blob.name || 'pasted', type: blob.type, size: blob.size, kind: 'file', blob });
    }
    this.notice(troubles.join(' '));
    this.#showFiles();
    this.#changed();
    $('text').focus();
  }

  #showFiles() {
    $('attached').hidden = !this.#files.length;
    $('attached').replaceChildren(...this.#files.map((file) => preview(file, () => {
      this.#files = this.#files.filter((other) => other !== file);
      this.#showFiles();
      this.#changed();
      $('text').focus();
    })));
  }
}
