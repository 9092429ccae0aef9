// One message: an element of the list, and its changes.

import { $, button, el, marked } from './element.js';
import { filesView } from './files.js';
import { write, writePlain } from './prose.js';

// fill shows a message in its element. Unchanged parts stay as they are. Body, if given, is the one to use: that of the draft
// that becomes the message.
export function fill(item, message, actions, body) {
  const parts = (item.parts ??= { body: body ?? el('div', { className: 'body' }), files: '', rest: [] });
  item.className = message.from;
  item.dataset.id = message.id;
  item.dataset.at = message.at;
  if (message.seq) item.dataset.seq = message.seq;
  if (!parts.body.isConnected || parts.body.parentNode !== item) {
    item.prepend(el('span', { className: 'hidden' }, message.from === 'user' ? 'You:' : `${message.agent ?? $('title').textContent}:`), parts.body);
  }
  text(parts.body, message);
  const files = JSON.stringify(message.files?.map(({ ref, name, size }) => [ref, name, size]) ?? []);
  if (files !== parts.files) {
    parts.files = files;
    parts.filesBox?.remove();
    parts.filesBox = message.files?.length && !message.deleted ? filesView(message.files) : undefined;
    if (parts.filesBox) parts.body.after(parts.filesBox);
  }
  for (const old of parts.rest) old.remove();
  parts.rest = [...buttons(message, actions), meta(item, message, actions)];
  item.append(...parts.rest);
}

function text(body, message) {
  body.hidden = false;
  if (message.deleted) {
    body.className = 'body deleted';
    body.textContent = 'Deleted';
  } else if (message.from === 'agent') {
    body.className = 'body prose';
    write(body, message.html ?? '');
    body.hidden = !message.html;
  } else {
    body.className = 'body';
    writePlain(body, message.text ?? '');
    body.hidden = !message.text;
  }
}

// A press keeps its id until it has arrived, so that a repeated one is the same.
const presses = new Map();

function buttons(message, actions) {
  if (!message.buttons?.length || message.deleted) return [];
  const error = el('p', { className: 'error', role: 'alert', hidden: true });
  const box = el('div', { className: 'buttons', role: 'group', 'aria-label': 'Answers' });
  for (const row of message.buttons) {
    const line = el('div');
    for (const { label, data } of row) {
      const { drawn, rest } = marked(label);
      const made = button(rest ?? label, { className: 'quiet', 'aria-pressed': 'false' });
      if (drawn) made.prepend(drawn);
      made.addEventListener('click', () => press(made, data));
      line.append(made);
    }
    box.append(line);
  }
  async function press(pressed, data) {
    const all = [...box.querySelectorAll('button')];
    const name = `${message.id} ${message.rev} ${data}`;
    if (!presses.has(name)) presses.set(name, crypto.randomUUID());
    error.hidden = true;
    box.ariaBusy = 'true';
    pressed.ariaPressed = 'true';
    for (const each of all) each.disabled = true;
    try {
      await actions.press(presses.get(name), message.id, data);
      presses.delete(name);
    } catch (reason) {
      error.textContent = reason.message;
      error.hidden = false;
      pressed.ariaPressed = 'false';
      for (const each of all) each.disabled = false;
      if (document.activeElement === document.body) pressed.focus();
    }
    box.ariaBusy = 'false';
  }
  box.append(error);
  return [box];
}

function meta(item, message, actions) {
  const at = new Date(message.at);
  const line = el('div', { className: 'meta' });
  if (message.reaction) line.append(el('span', { className: 'reaction', role: 'img', 'aria-label': `Reaction ${message.reaction}` }, message.reaction));
  line.append(el('time', {
    dateTime: at.toISOString(),
    title: at.toLocaleString(),
    textContent: at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' }),
  }));
  if (message.agent) line.prepend(el('span', { className: 'by', 'aria-hidden': 'true' }, message.agent)); // the hidden words before the text say it, too
  const note = (words) => line.append(el('span', { className: 'note' }, words));
  const act = (label, click) => {
    const made = button(label);
    made.addEventListener('click', click);
    line.append(made);
  };
  if (message.error) {
    item.classList.add('failed');
    note(`Not sent: ${message.error}`);
    act('Try again', () => actions.retry(message.id));
    act('Discard', () => actions.discard(message.id));
  } else if (message.state === 'rejected') {
    item.classList.add('failed');
    note('The host did not take this message');
  } else if (message.state === 'pending') {
    item.classList.add('sending');
    note('Sending…');
  } else if (message.edited && message.from === 'user') {
    note('edited');
  }
  if (message.from === 'agent' && message.html && !message.deleted) line.append(button('Copy the message', { icon: 'copy', className: 'icon copy', value: message.text }));
  return line;
}
