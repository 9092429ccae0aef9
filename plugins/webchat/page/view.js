// What the page shows. Messages are kept in the order of their seq; those that the server does not know yet come last.

const $ = (id) => document.getElementById(id);

export class View {
  #items = new Map(); // id → li
  #actions;
  #name = 'Chat';
  #unread = 0;
  #typingTimer;

  // actions: {send(text), retry(id), discard(id), press(message, data), earlier()}
  constructor(actions) {
    this.#actions = actions;
    const text = $('text');
    const fit = () => {
      text.style.height = 'auto';
      text.style.height = `${text.scrollHeight + 2}px`;
      $('send').disabled = !text.value.trim();
    };
    text.addEventListener('input', fit);
    text.addEventListener('keydown', (event) => {
      const touch = matchMedia('(pointer: coarse)').matches;
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing || touch) return;
      event.preventDefault();
      $('composer').requestSubmit();
    });
    $('composer').addEventListener('submit', (event) => {
      event.preventDefault();
      if (!text.value.trim()) return;
      actions.send(text.value);
      text.value = '';
      fit();
      text.focus();
      this.#toEnd();
    });
    $('stop').addEventListener('click', () => actions.send('/stop'));
    $('earlier').addEventListener('click', () => actions.earlier());
    $('latest').addEventListener('click', () => this.#toEnd('smooth'));
    $('scroll').addEventListener('scroll', () => this.#scrolled(), { passive: true });
    document.addEventListener('visibilitychange', () => this.#read());
    new ResizeObserver(() => this.#stick && this.#toEnd()).observe($('scroll'));
  }

  #stick = true; // whether the end is in view, and stays so when something is added

  title(name) {
    this.#name = name;
    $('title').textContent = name;
    this.#read();
  }

  status(state) {
    const words = { connecting: 'Connecting…', online: 'Connected', offline: 'Disconnected, trying again…' };
    $('status').dataset.state = state;
    $('status').textContent = words[state];
  }

  lock(locked) {
    $('locked').hidden = !locked;
    for (const part of document.querySelectorAll('header, main, footer')) part.inert = locked;
  }

  clear() {
    this.#items.clear();
    $('messages').replaceChildren();
  }

  more(more) {
    $('earlier').hidden = !more;
  }

  // page shows messages of the past: those at the top without moving what is in view.
  page(messages) {
    const scroll = $('scroll');
    const below = scroll.scrollHeight - scroll.scrollTop;
    $('messages').setAttribute('aria-busy', 'true');
    for (const message of messages) this.#put(message);
    this.#settle();
    $('messages').setAttribute('aria-busy', 'false');
    if (!this.#stick) scroll.scrollTop = scroll.scrollHeight - below;
  }

  // show puts a message in its place, or changes it.
  show(message) {
    const isNew = !this.#items.has(message.id);
    this.#put(message);
    if (isNew && message.from === 'agent') {
      this.typing(0);
      if (document.hidden) {
        this.#unread++;
        document.title = `(${this.#unread}) ${this.#name}`;
      }
    }
    this.#settle();
  }

  // unsent shows a message that the server has not told of, unless it has by now.
  unsent(message) {
    if (!this.#items.get(message.id)?.dataset.seq) this.show(message);
  }

  remove(id) {
    const item = this.#items.get(id);
    if (!item || item.dataset.seq) return;
    item.remove();
    this.#items.delete(id);
    this.#settle();
  }

  typing(ms) {
    clearTimeout(this.#typingTimer);
    $('typing').hidden = $('stop').hidden = ms <= 0;
    if (ms > 0) this.#typingTimer = setTimeout(() => this.typing(0), ms);
    this.#settle();
  }

  #put(message) {
    const item = document.createElement('li');
    item.classList.add(message.from);
    item.dataset.id = message.id;
    if (message.seq) item.dataset.seq = message.seq;
    item.dataset.at = message.at;
    item.append(this.#body(message), ...this.#buttons(message), this.#meta(message, item));
    this.#items.get(message.id)?.remove();
    this.#items.set(message.id, item);
    // Most messages are new: look for the place from the end.
    const order = (li) => Number(li.dataset.seq ?? Infinity);
    let after = $('messages').lastElementChild;
    while (after && order(after) > order(item)) after = after.previousElementSibling;
    if (after) after.after(item);
    else $('messages').prepend(item);
  }

  #body(message) {
    const body = document.createElement('div');
    body.className = 'body';
    if (message.deleted) {
      body.textContent = 'Deleted';
    } else if (message.from === 'agent') {
      body.classList.add('prose');
      body.innerHTML = message.html; // made safe by the server
      for (const pre of body.querySelectorAll('pre:has(> code)')) frameCode(pre);
    } else {
      body.textContent = message.text;
    }
    return body;
  }

  #buttons(message) {
    if (!message.buttons?.length) return [];
    const box = document.createElement('div');
    box.className = 'buttons';
    for (const row of message.buttons) {
      const line = document.createElement('div');
      for (const { label, data } of row) {
        const button = quietButton(label);
        button.addEventListener('click', async () => {
          const all = box.querySelectorAll('button');
          for (const each of all) each.disabled = true;
          const pressed = await this.#actions.press(message.id, data);
          for (const each of all) each.disabled = pressed;
        });
        line.append(button);
      }
      box.append(line);
    }
    return [box];
  }

  #meta(message, item) {
    const meta = document.createElement('div');
    meta.className = 'meta';
    const time = document.createElement('time');
    const at = new Date(message.at);
    time.dateTime = at.toISOString();
    time.title = at.toLocaleString();
    time.textContent = at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
    meta.append(time);
    const note = document.createElement('span');
    note.className = 'note';
    if (message.error) {
      item.classList.add('failed');
      note.textContent = `Not sent: ${message.error}`;
      meta.append(note, this.#link('Try again', () => this.#actions.retry(message.id)));
      meta.append(this.#link('Discard', () => this.#actions.discard(message.id)));
    } else if (message.state === 'rejected') {
      item.classList.add('failed');
      note.textContent = 'The host did not take this message';
      meta.append(note);
    } else if (message.state === 'pending') {
      item.classList.add('sending');
      note.textContent = 'Sending…';
      meta.append(note);
    } else if (message.edited && !message.deleted) {
      note.textContent = 'edited';
      meta.append(note);
    }
    if (message.deleted) item.classList.add('deleted');
    return meta;
  }

  #link(label, click) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = label;
    button.addEventListener('click', click);
    return button;
  }

  // #settle puts things right after a change: the days, the empty page, the end in view.
  #settle() {
    let day = '';
    for (const item of $('messages').children) {
      const own = dayOf(item.dataset.at);
      if (own !== day) item.dataset.day = own;
      else delete item.dataset.day;
      day = own;
    }
    $('empty').hidden = this.#items.size > 0;
    if (this.#stick) this.#toEnd();
  }

  #toEnd(behavior = 'instant') {
    const scroll = $('scroll');
    scroll.scrollTo({ top: scroll.scrollHeight, behavior });
  }

  #scrolled() {
    const scroll = $('scroll');
    this.#stick = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
    $('latest').hidden = this.#stick;
  }

  #read() {
    if (document.hidden && this.#unread) return;
    this.#unread = 0;
    document.title = this.#name;
  }
}

function quietButton(label) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'quiet';
  button.textContent = label;
  return button;
}

function frameCode(pre) {
  const frame = document.createElement('div');
  frame.className = 'codeblock';
  const copy = quietButton('Copy');
  copy.addEventListener('click', async () => {
    await navigator.clipboard.writeText(pre.textContent);
    copy.textContent = 'Copied';
    setTimeout(() => (copy.textContent = 'Copy'), 1500);
  });
  pre.replaceWith(frame);
  frame.append(pre, copy);
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
