// The turns that run, with what they have written so far.

import { el, empty, keep, moment } from './element.js';

const shown = new WeakMap(); // the parts of an element that change

function make(run) {
  const text = document.createTextNode('');
  const tools = document.createTextNode('');
  const frame = el('pre', { className: 'live', tabIndex: 0, role: 'region', 'aria-label': `What ${run.session} writes` }, text);
  const element = el('article', {}, el('p', {}, el('strong', {}, run.session), ' ', el('span', { className: 'faint' }, 'began ', moment(run.since), tools)), frame);
  shown.set(element, { text, tools, frame });
  return element;
}

// update lets what was read to its end follow what is written.
function update(element, run) {
  const { text, tools, frame } = shown.get(element);
  const follows = frame.scrollHeight - frame.scrollTop - frame.clientHeight < 24;
  text.data = run.text ? (run.cut ? '…' : '') + run.text : 'Nothing is written yet.';
  tools.data = run.tools ? `, uses ${run.tools.join(', ')}` : '';
  frame.classList.toggle('faint', !run.text);
  if (follows) requestAnimationFrame(() => { frame.scrollTop = frame.scrollHeight; });
}

export const showRuns = (runs) => keep('runs', runs, (run) => run.id, make, () => empty('No turn runs.'), update);
