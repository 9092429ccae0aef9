// Files beside messages. Their bytes are fetched by a request with the token and shown as blobs, never as documents of this
// page.

import { download } from './api.js';
import { $, button, el, icon, sizeOf } from './element.js';

const pictures = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
// A larger picture is fetched only when somebody asks for it.
const largestPicture = 8_000_000;

const urls = new Map(); // ref → a promise of the URL of a blob
const local = new WeakMap(); // a file that is not with the server → the URL of its blob
const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    target.dispatchEvent(new Event('near'));
  }
}, { rootMargin: '400px' });

// seed adds the bytes of a file that the page already has.
export function seed(ref, blob) {
  if (!urls.has(ref)) urls.set(ref, Promise.resolve(URL.createObjectURL(blob)));
}

function localURL(file) {
  if (!local.has(file)) local.set(file, URL.createObjectURL(file.blob));
  return local.get(file);
}

async function urlOf(file) {
  if (!file.ref) return localURL(file);
  if (!urls.has(file.ref)) {
    const url = download(file.ref).then((blob) => URL.createObjectURL(blob));
    url.catch(() => urls.delete(file.ref));
    urls.set(file.ref, url);
  }
  return urls.get(file.ref);
}

// filesView shows the files of a message.
export function filesView(files) {
  const box = el('div', { className: 'files' });
  for (const file of files) box.append(view(file));
  return box;
}

function view(file) {
  if (pictures.includes(file.type) && file.size <= largestPicture) return picture(file);
  if (/^(audio|video)\//.test(file.type ?? '') || file.kind === 'voice') return player(file);
  return card(file);
}

function picture(file) {
  const image = el('img', { alt: file.name, decoding: 'async' });
  const open = el('button', { type: 'button', className: 'picture', title: file.name }, image);
  open.ariaLabel = `Show ${file.name}`;
  open.addEventListener('near', async () => {
    try {
      image.src = await urlOf(file);
      await image.decode();
      open.classList.add('loaded');
    } catch {
      open.replaceWith(card(file));
    }
  });
  open.addEventListener('click', () => {
    if (!image.src) return;
    const [large] = $('picture').getElementsByTagName('img');
    large.src = image.src;
    large.alt = file.name;
    $('picture').showModal();
  });
  near.observe(open);
  return open;
}

// player fetches audio and video when somebody plays it.
function player(file) {
  const isVideo = file.type.startsWith('video/');
  const label = file.kind === 'voice' ? 'Voice note' : file.name;
  const frame = el('div', { className: 'player' });
  const play = button(`Play ${label}`, { icon: 'play', className: 'icon filled' });
  play.addEventListener('click', async () => {
    play.disabled = true;
    try {
      const media = el(isVideo ? 'video' : 'audio', { controls: true, src: await urlOf(file) });
      media.ariaLabel = label;
      frame.replaceChildren(media);
      await media.play();
    } catch (error) {
      if (frame.contains(play)) frame.replaceWith(card(file, error.message));
    }
  });
  frame.append(play, el('span', { className: 'label' }, label), el('span', { className: 'faint' }, sizeOf(file.size)));
  return frame;
}

// card shows a file for download.
function card(file, trouble) {
  const name = el('span', { className: 'label' }, file.name);
  const note = el('span', { className: 'faint' }, trouble ?? sizeOf(file.size ?? 0));
  const save = el('button', { type: 'button', className: 'card', title: `Save ${file.name}` }, icon('file'), name, note, icon('save'));
  save.addEventListener('click', async () => {
    save.disabled = true;
    try {
      const link = el('a', { href: await urlOf(file), download: file.name });
      link.click();
      note.textContent = sizeOf(file.size ?? 0);
    } catch (error) {
      note.textContent = error.message;
    }
    save.disabled = false;
  });
  return save;
}

// preview shows a file that will be sent.
export function preview(file, remove) {
  const isPicture = pictures.includes(file.type);
  const item = el('li', { className: isPicture ? 'thumb' : 'chip' });
  if (isPicture) item.append(el('img', { alt: file.name, src: localURL(file) }));
  else item.append(icon('file'), el('span', { className: 'label' }, file.name), el('span', { className: 'faint' }, sizeOf(file.size)));
  const away = button(`Remove ${file.name}`, { icon: 'close', className: 'icon small' });
  away.addEventListener('click', remove);
  item.append(away);
  return item;
}
