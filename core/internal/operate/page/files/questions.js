// The open questions, and their answers.

import { el, empty, keep, moment, prose } from './element.js';
import { act } from './sections.js';

// asked says what a question asks, as the chat does.
function asked(q) {
  const who = q.for ? `Claude, working for ${q.for},` : 'Claude';
  switch (q.kind) {
    case 'tool': return [`${who} asks to use ${q.about}.`];
    case 'plan': return [`${who} has a plan. May it go ahead?`];
    case 'form': return [`The MCP server ${q.server} asks, for ${q.for ?? 'the person of the turn'}:`, el('br'), q.text ?? ''];
    default: return prose(q.text ?? '');
  }
}

function details(q) {
  const once = q.kind === 'tool' ? ', so it can be allowed once only' : '';
  return [
    q.shown && el('pre', { tabIndex: 0, role: 'region', 'aria-label': `What question ${q.id} is about` }, q.shown),
    q.why && el('p', {}, q.why),
    q.outside && el('p', {}, 'It reaches outside the workspace: ', el('code', {}, q.outside)),
    q.purpose && el('p', {}, q.purpose),
    q.other && el('p', {}, 'With ', el('code', {}, q.other)),
    q.missing && el('p', { className: 'warn' }, `${q.missing} characters of it are not shown here${once}.`),
    q.doubtful && el('p', { className: 'warn' }, `It can be read in more than one way${once}. Say no unless you know why.`),
    el('p', { className: 'faint' }, `${q.session}, asked `, moment(q.since), ', ends ', moment(q.expires_at), `. Who may answer in the chat: ${q.may.join(', ')}.`),
  ].filter(Boolean);
}

// words makes a field for a person's own words.
function words(q, label) {
  const input = el('input', { type: 'text', id: `words-${q.id}`, autocomplete: 'off', maxLength: 10_000 });
  return [input, el('div', { className: 'words' }, el('label', { htmlFor: input.id }, label), input)];
}

// answers makes what a person answers with. Give takes the answer.
function answers(q, give) {
  // The labels of the host begin with a picture, for chats.
  const named = (o) => (q.kind === 'choice' ? o.label : o.label.replace(/^[^\p{L}\p{N}]+/u, ''));
  const button = (o, answer, className = '') => act(named(o), `${named(o)}, question ${q.id}`, () => give(answer()), className);
  const no = q.options.find((o) => o.answer === 'no');
  const others = q.options.filter((o) => o !== no);
  switch (q.kind) {
    case 'choice': return choices(q, give, button);
    case 'form': return form(q, give, button);
    case 'resume': return [el('div', { className: 'acts' }, ...others.map((o) => button(o, () => o.answer)))];
    default: {
      const [reason, field] = words(q, 'Why not? (for Claude, may be empty)');
      return [
        ...others.filter((o) => ['session', 'always'].includes(o.answer)).map((o) => el('p', { className: 'faint' }, `${named(o)}: `, ...prose(o.help ?? ''))),
        el('div', { className: 'acts' }, ...others.map((o) => button(o, () => o.answer))),
        field, el('div', { className: 'acts' }, button(no, () => `no ${reason.value}`.trim(), 'bad')),
      ];
    }
  }
}

// form makes what a part of an MCP server's form is answered with.
function form(q, give, button) {
  const buttons = el('div', { className: 'acts' }, ...q.options.map((o) => button(o, () => o.answer, o.answer === 'decline' ? 'bad' : '')));
  if (!q.takes) return [buttons];
  const [own, field] = words(q, `Or ${q.takes.replaceAll('`', '')}`);
  const send = button({ label: 'Answer' }, () => own.value.trim(), 'main');
  own.oninput = () => { send.disabled = own.value.trim() === ''; };
  own.oninput();
  return [buttons, field, el('div', { className: 'acts' }, send)];
}

function choices(q, give, button) {
  const [own, field] = words(q, 'Or in your own words');
  const help = (o) => (o.help ? el('span', { className: 'faint' }, ` ${o.help}`) : '');
  const boxes = q.options.map((o) => el('input', { type: 'checkbox', value: o.answer }));
  const picked = () => own.value.trim() || boxes.filter((b) => b.checked).map((b) => b.value).join(',');
  const list = q.several
    ? el('div', { className: 'choices' }, ...q.options.map((o, i) => el('label', {}, boxes[i], ` ${o.label}`, help(o))))
    : el('div', { className: 'choices' }, ...q.options.map((o) => el('p', {}, button(o, () => o.answer), help(o))));
  const send = button({ label: 'Answer' }, picked, 'main');
  const ready = () => { send.disabled = picked() === ''; };
  for (const input of [own, ...boxes]) input.oninput = ready;
  ready();
  return [list, field, el('div', { className: 'acts' }, send)];
}

function make(q, answer) {
  const card = el('article', { className: 'question', role: 'group', 'aria-label': `Question ${q.id}` });
  // An answer that is on its way is not given twice.
  const give = async (text) => {
    const buttons = [...card.querySelectorAll('button:not(:disabled)')];
    for (const b of buttons) b.disabled = true;
    await answer({ id: q.id, answer: text });
    for (const b of buttons) b.disabled = false;
  };
  card.append(el('p', { className: 'asked' }, ...asked(q)), ...details(q), ...answers(q, give));
  return card;
}

export const showQuestions = (questions, answer) =>
  keep('questions', questions, (q) => q.id, (q) => make(q, answer), () => empty('No question is open.'));
