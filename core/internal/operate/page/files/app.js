// The state page: who is logged in sees the state of the host, asked for every two seconds while the page is visible.

import { forget, get, Gone, hasKey, login, logout, post } from './api.js';
import { $, clear, prose, tick } from './element.js';
import { showLatency } from './latency.js';
import { showQuestions } from './questions.js';
import { showRuns } from './runs.js';
import { showDead, showPairings, showPlugins, showQueue, showSessions, showStatus } from './sections.js';
import { showUsage } from './usage.js';

const often = 2_000;
const seldom = 30_000; // for what is much and changes little

let timer;
let asked = 0; // when what is asked for seldom was
let counts; // of what a screen reader is told of

function show(loggedIn) {
  $('login').hidden = loggedIn;
  $('state').hidden = !loggedIn;
  $('logout').hidden = !loggedIn;
  if (loggedIn) return;
  clear();
  counts = undefined;
  asked = 0;
  $('connection').textContent = '';
  $('token').focus();
}

// fail shows an error of the host, which begins with a small letter, as a sentence.
function fail(text) {
  $('failure').replaceChildren(...prose(text && text[0].toUpperCase() + text.slice(1).replace(/\.?$/, '.')));
  $('failed').hidden = text === '';
}

// announce tells screen readers what there is more of.
function announce(now) {
  const more = counts ? Object.entries(now).filter(([name, count]) => count > (counts[name] ?? 0)) : [];
  counts = now;
  if (more.length > 0) $('said').textContent = more.map(([name, count]) => `${name}: ${count}`).join(', ');
}

async function refresh() {
  const [status, queue, pairings] = await Promise.all([get('v1/status'), get('v1/queue'), get('v1/pairings')]);
  const [letters, questions, runs] = await Promise.all([
    status.dead > 0 ? get('v1/queue/dead') : [], status.questions ? get('v1/questions') : [], status.running > 0 ? get('v1/runs') : [],
  ]);
  showStatus(status);
  showQuestions(questions, act('v1/questions/answer', (answer) => answer, 'The answer counts.'));
  showRuns(runs);
  showQueue(queue, act('v1/turns/stop', (l) => ({ session: l.session }), 'The turn is stopped.'));
  showPairings(pairings, act('v1/pairings/approve', (p) => ({ channel: p.channel, code: p.code }), 'Approved.'),
    act('v1/pairings/reject', (p) => ({ channel: p.channel, code: p.code }), 'Rejected.'));
  const drop = act('v1/queue/drop', (d) => ({ id: d.id }), 'Dropped.');
  showDead(letters, status.dead, act('v1/queue/retry', (d) => ({ id: d.id }), 'It is sent again.'),
    async (d) => await confirmed('Drop this message? Nobody will get it.') && drop(d));
  showPlugins(status.plugins, act('v1/plugins/restart', (p) => ({ name: p.name }), 'It is restarted.'));
  announce({ Problems: status.problems?.length ?? 0, 'Open questions': questions.length, 'Pairing requests': pairings.length, 'Dead letters': status.dead });
  if (Date.now() - asked >= seldom) {
    const [sessions, usage, latency] = await Promise.all([get('v1/sessions'), get('v1/usage'), get('v1/latency')]);
    asked = Date.now();
    showSessions(sessions);
    showUsage(usage);
    showLatency(latency);
  }
  tick();
}

// poll shows the state now, and again and again. A hidden page asks for nothing.
async function poll() {
  clearTimeout(timer);
  if (!hasKey()) return show(false);
  if (document.hidden) return;
  try {
    if ($('state').hidden) show(true);
    await refresh();
    $('connection').textContent = 'Connected';
  } catch (error) {
    if (error instanceof Gone) return leave('');
    $('connection').textContent = 'The host does not answer. What is shown may be old.';
  }
  clearTimeout(timer);
  timer = setTimeout(poll, often);
}

function leave(why) {
  clearTimeout(timer);
  forget();
  show(false);
  fail(why);
}

// act returns what a button does with what it stands beside.
function act(path, values, done) {
  return async (of) => {
    fail('');
    try {
      await post(path, values(of));
      $('said').textContent = done;
    } catch (error) {
      if (error instanceof Gone) return leave('You are logged out. Log in again.');
      fail(error.message);
    }
    await poll();
  };
}

function confirmed(text) {
  const dialog = $('confirm');
  $('confirm-text').textContent = text;
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true }));
}

$('failed-close').onclick = () => fail('');
$('confirm-no').onclick = () => $('confirm').close('no');
$('confirm-yes').onclick = () => $('confirm').close('yes');

$('form').onsubmit = async (event) => {
  event.preventDefault();
  fail('');
  try {
    await login($('token').value.trim());
  } catch (error) {
    return fail(error instanceof Gone ? error.message : `The login failed: ${error.message}`);
  }
  $('token').value = '';
  await poll();
};

$('logout').onclick = async () => {
  try {
    await logout();
  } finally {
    leave('');
  }
};

document.addEventListener('visibilitychange', poll);
poll();
