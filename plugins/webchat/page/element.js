// Elements and icons.

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

// button makes a button with a label and, perhaps, an icon in its place.
export function button(label, { icon: name, ...properties } = {}) {
  const made = el('button', { type: 'button', ...properties });
  if (name) {
    made.append(icon(name));
    made.ariaLabel = label;
    made.title = label;
  } else {
    made.textContent = label;
  }
  return made;
}

const paths = {
  attach: 'M20.5 11.5 12 20a5.4 5.4 0 0 1-7.6-7.6l8.8-8.8a3.6 3.6 0 0 1 5.1 5.1l-8.8 8.8a1.8 1.8 0 0 1-2.6-2.6l8-8',
  check: 'M5 13l4.500 4.500L19.500 7',
  close: 'M6 6l12 12M18 6 6 18',
  copy: 'M9 9h10v11H9zM15 9V4H5v11h4',
  down: 'M12 5v14M5 12l7 7 7-7',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  menu: 'M4 6h16M4 12h16M4 18h16',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.500 10.500z',
  pencil: 'M4 20l1-4L16 5l3 3L8 19zM14 7l3 3',
  play: 'M8 5l11 7-11 7z',
  plus: 'M12 5v14M5 12h14',
  save: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  stop: 'M7 7h10v10H7z',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M4.900 4.900l1.400 1.400M17.700 17.700l1.400 1.400M2 12h2M20 12h2M4.900 19.100l1.400-1.400M17.700 6.300l1.400-1.400',
  system: 'M4 5h16v11H4zM9 20h6M12 16v4',
  tool: 'M14.500 6.500a4 4 0 0 1 5-2.500l-2.500 2.500.5 2 2 .5L22 6.500a4 4 0 0 1-5.500 4.500L8 19.500a2 2 0 0 1-3-3L13.500 8a4 4 0 0 1 1-1.500z',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
  up: 'M12 19V5M5 12l7-7 7 7',
};

// icon draws one of the icons.
export function icon(name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', paths[name]);
  svg.append(path);
  return svg;
}

// The emoji with which the host begins lines and buttons, drawn by the page: not every system has a picture of them.
const marks = [['🔧', 'tool'], ['✅', 'check'], ['❌', 'close'], ['✍️', 'pencil']];

// marked draws the emoji at the beginning of a text, if there is one, and returns the rest of the text.
export function marked(text) {
  const [mark, name] = marks.find(([mark]) => text.trimStart().startsWith(mark)) ?? [];
  if (!mark) return {};
  const drawn = icon(name);
  drawn.classList.add('mark', name);
  return { name, drawn, rest: text.trimStart().slice(mark.length).trimStart() };
}

// sizeOf formats a number of bytes as the host and its docs do: 20 MB are 20 times 1024 KB.
export function sizeOf(bytes) {
  if (bytes < 1 << 10) return `${bytes} bytes`;
  if (bytes < 1 << 20) return `${Math.round(bytes / (1 << 10))} KB`;
  return `${Number((bytes / (1 << 20)).toFixed(1))} MB`;
}
