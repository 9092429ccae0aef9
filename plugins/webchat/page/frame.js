// The frame around the messages: the drawer of a narrow page, the colours, the state of the connection.

import { $, icon } from './element.js';

const themeKey = 'clawhost.theme';

// frame sets up the parts that need no server.
export function frame() {
  for (const place of document.querySelectorAll('[data-icon]')) place.prepend(icon(place.dataset.icon));
  $('menu').addEventListener('click', () => drawer(true));
  $('close').addEventListener('click', () => drawer(false));
  $('backdrop').addEventListener('click', () => drawer(false));
  narrow.addEventListener('change', () => drawer(false));
  drawer(false);
  if (/Mac|iPhone|iPad/.test(navigator.platform)) $('shortcut').textContent = '⌘ K';
  for (const choice of document.querySelectorAll('#theme input')) {
    choice.checked = choice.value === document.documentElement.dataset.theme;
    choice.addEventListener('change', () => {
      localStorage.setItem(themeKey, choice.value);
      paint(choice.value);
    });
  }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => paint(document.documentElement.dataset.theme));
  paint(document.documentElement.dataset.theme);
}

function paint(theme) {
  document.documentElement.dataset.theme = theme;
  document.querySelector('meta[name=theme-color]').content = getComputedStyle(document.body).backgroundColor;
}

const narrow = matchMedia('(max-width: 52rem)');

// drawer opens or closes the list of conversations on a narrow page, and reports whether that changed anything.
export function drawer(open) {
  const was = $('sidebar').classList.contains('open');
  $('sidebar').classList.toggle('open', open);
  $('sidebar').inert = narrow.matches && !open;
  $('chat').inert = narrow.matches && open;
  $('backdrop').hidden = !open;
  $('menu').ariaExpanded = String(open);
  if (open) $('close').focus();
  else if (was) $('menu').focus();
  return was !== open;
}

// showList shows the list of conversations, if it is not always shown.
export function showList() {
  if (narrow.matches) drawer(true);
}

const words = { connecting: 'Connecting…', online: 'Connected', offline: 'Disconnected, trying again…', stranger: 'Not verified' };

// connection shows the state of the connection.
export function connection(state) {
  if ($('status').dataset.state === state) return;
  $('status').dataset.state = state;
  $('status').textContent = words[state];
  $('stranger').hidden = state !== 'stranger';
}

// lock shows that the page needs its link.
export function lock() {
  $('locked').hidden = false;
  for (const part of [$('sidebar'), $('chat')]) part.inert = true;
}
