// The agent's text, as rendered by the server: changed in place, so that unchanged parts do not move while an answer
// grows.

import { button, el, marked } from './element.js';
import { highlight } from './highlight.js';

// write shows the server's HTML in a body; it is safe to insert.
export function write(body, html) {
  const template = document.createElement('template');
  template.innerHTML = html;
  adorn(template.content);
  morph(body, template.content);
}

// A number with its unit, such as "34 MB", which stays on one line.
const amount = /^\p{S}?\d[\d.,:/]* ?[\p{L}\p{S}%°/]{0,8}$/u;

// adorn frames code and tables, and draws emoji.
function adorn(content) {
  for (const pre of content.querySelectorAll('pre:has(> code)')) {
    const code = pre.firstElementChild;
    pre.replaceWith(codeBlock(code, code.className.replace(/^language-/, '')));
  }
  for (const table of content.querySelectorAll('table')) {
    const frame = el('div', { className: 'table', tabIndex: 0 });
    table.replaceWith(frame);
    frame.append(table);
    for (const cell of table.querySelectorAll('td')) if (amount.test(cell.textContent)) cell.className = 'amount';
  }
  for (const p of content.querySelectorAll('p')) mark(p);
}

// codeBlock frames an element of code, with a button that copies it.
function codeBlock(code, language) {
  highlight(code, language);
  return el('div', { className: 'codeblock' },
    el('div', { className: 'codehead' }, el('span', {}, language), button('Copy', { className: 'copy' })),
    el('pre', { tabIndex: 0 }, code), // so that it can be scrolled with the keyboard
  );
}

// A line that begins or ends a block of code.
const fence = /^ {0,3}(`{3,}|~{3,})([^`\n]*)$/;

// writePlain shows a text as it was written, but with its blocks of code in frames.
export function writePlain(body, source) {
  const parts = [];
  let open; // the mark and the language of the block that has begun
  let lines = [];
  const end = () => {
    const text = lines.join('\n');
    if (open) parts.push(codeBlock(el('code', {}, text), open.language));
    else if (text) parts.push(text);
    open = undefined;
    lines = [];
  };
  for (const line of source.split('\n')) {
    const [, mark, info] = line.match(fence) ?? [];
    if (mark && !open) {
      end();
      open = { mark, language: info.trim().split(/\s/)[0] };
    } else if (mark && mark.startsWith(open.mark) && !info.trim()) {
      end();
    } else {
      lines.push(line);
    }
  }
  end();
  const next = document.createDocumentFragment();
  next.append(...parts);
  morph(body, next);
}

// mark draws the emoji at the beginning of a paragraph's lines.
function mark(p) {
  for (const node of [...p.childNodes]) {
    const begins = !node.previousSibling || node.previousSibling.nodeName === 'BR';
    if (node.nodeType !== Node.TEXT_NODE || !begins) continue;
    const { name, drawn, rest } = marked(node.data);
    if (!name) continue;
    if (name === 'tool') p.className = 'work';
    node.before(drawn);
    node.data = rest;
  }
}

// morph makes the children of one node equal to those of another, and keeps each that need not change.
function morph(old, next) {
  let at = old.firstChild;
  for (const wanted of [...next.childNodes]) {
    if (!at) {
      old.append(wanted);
      continue;
    }
    const following = at.nextSibling;
    if (!at.isEqualNode(wanted)) {
      if (at.nodeType === Node.TEXT_NODE && wanted.nodeType === Node.TEXT_NODE) at.data = wanted.data;
      else if (alike(at, wanted)) morph(at, wanted);
      else at.replaceWith(wanted);
    }
    at = following;
  }
  while (at) {
    const following = at.nextSibling;
    at.remove();
    at = following;
  }
}

// alike reports whether two elements differ only in their children.
function alike(a, b) {
  return a.nodeType === Node.ELEMENT_NODE && b.nodeType === Node.ELEMENT_NODE && a.cloneNode().isEqualNode(b.cloneNode());
}

// copyable makes the copy buttons within an element work, including later ones.
export function copyable(element) {
  element.addEventListener('click', async ({ target }) => {
    const pressed = target.closest('.copy');
    if (!pressed) return;
    const text = pressed.closest('.codeblock')?.querySelector('pre').textContent ?? pressed.value; // Markdown, as it was written
    const before = pressed.ariaLabel;
    try {
      await navigator.clipboard.writeText(text);
      pressed.dataset.said = 'Copied';
    } catch {
      pressed.dataset.said = 'Not allowed';
    }
    pressed.ariaLabel = pressed.dataset.said;
    setTimeout(() => {
      delete pressed.dataset.said;
      pressed.ariaLabel = before;
    }, 1500);
  });
}
