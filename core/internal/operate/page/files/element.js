// Elements, tables and times. All that comes from the host is text content, never markup.

export const $ = (id) => document.getElementById(id);

// el makes an element with properties, and children that are elements or texts. Names with a "-" and "role" are attributes.
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === 'role' || name.includes('-')) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

// prose returns the parts of a text of the host, in which `backticks` enclose code, as texts and elements.
export function prose(text) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(/(?<!`)(`+)(?!`)([^]*?[^`])\1(?!`)/g)) {
    parts.push(text.slice(from, found.index), el('code', {}, found[2].replace(/^ (`[^]*) $|^ ([^]*`) $/, '$1$2')));
    from = found.index + found[0].length;
  }
  return [...parts, text.slice(from)];
}

// table makes a table of columns, which are [heading, class], and rows, which are lists of texts and elements, or lists of these. The roles are said, as a
// narrow screen shows the rows as blocks.
export function table(label, columns, rows) {
  const head = columns.map(([heading]) => el('th', { scope: 'col', role: 'columnheader' }, heading));
  const body = rows.map((cells) => el('tr', { role: 'row' }, ...cells.map((cell, i) => {
    const [heading, className = ''] = columns[i];
    return el('td', { className, role: 'cell', 'data-label': heading }, ...[cell].flat());
  })));
  return el('table', { role: 'table', 'aria-label': label },
    el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...head)), el('tbody', { role: 'rowgroup' }, ...body));
}

const units = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];

function distance(at) {
  const seconds = Math.round(Math.abs(Date.now() - at) / 1000);
  const [size, unit] = units.find(([size]) => seconds >= size) ?? [1, 's'];
  return `${Math.floor(seconds / size)} ${unit}`;
}

function describe(time) {
  const at = Date.parse(time.dateTime);
  return at > Date.now() ? `in ${distance(at)}` : `${distance(at)} ago`;
}

// moment shows how long ago a time is, or how soon, and an empty text for none.
export function moment(iso) {
  if (!iso) return '';
  const time = el('time', { dateTime: iso, title: new Date(iso).toLocaleString() });
  time.textContent = describe(time);
  return time;
}

// tick brings all shown moments up to date.
export function tick() {
  for (const time of document.querySelectorAll('time')) {
    const text = describe(time);
    if (time.textContent !== text) time.textContent = text;
  }
}

const shown = new Map(); // what was last put where, as JSON

// put shows in a place what make returns, if the data has changed. The focus stays on the button with the same name.
export function put(place, data, make) {
  const json = JSON.stringify(data);
  if (shown.get(place) === json) return;
  shown.set(place, json);
  const focused = $(place).contains(document.activeElement) ? document.activeElement.dataset.name : undefined;
  $(place).replaceChildren(...[make(data)].flat());
  if (focused) [...$(place).querySelectorAll('button')].find((b) => b.dataset.name === focused)?.focus();
}

const kept = new Map(); // of the places of keep: the elements by key, with what they show as JSON

// keep shows a list in a place. An element that make has made for a key stays as long as the list has it, with what a person has typed
// in it; update, if any, brings it up to date where its data has changed.
export function keep(place, list, key, make, none, update) {
  const before = kept.get(place) ?? new Map();
  const now = new Map();
  for (const data of list) {
    const json = JSON.stringify(data);
    const old = before.get(key(data));
    const element = old && (update || old.json === json) ? old.element : make(data);
    if (update && old?.json !== json) update(element, data);
    now.set(key(data), { json, element });
  }
  kept.set(place, now);
  const wanted = list.length > 0 ? [...now.values()].map(({ element }) => element) : [none()];
  if (list.length === 0 && before.size === 0 && $(place).childElementCount === 1) return;
  for (const child of [...$(place).children]) if (!wanted.includes(child)) child.remove();
  wanted.forEach((element, i) => {
    if ($(place).children[i] !== element) $(place).insertBefore(element, $(place).children[i] ?? null);
  });
}

export const clear = () => {
  for (const place of [...shown.keys(), ...kept.keys()]) $(place).replaceChildren();
  shown.clear();
  kept.clear();
};

export const empty = (text) => el('p', { className: 'empty' }, text);
