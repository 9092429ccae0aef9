// The sections of the page.

import { el, empty, moment, prose, put, table } from './element.js';

const place = (to) => [to.channel, to.chat, to.thread].filter(Boolean).join(':');
export const dollars = (micros) => `$${(micros / 1e6).toFixed(2)}`;
export const tokens = (usage) => usage.input_tokens + usage.cache_tokens + usage.output_tokens;

// act makes a button. what is a description of the act for screen readers, and unique on the page.
export const act = (label, what, onclick, className = '') => el('button', { type: 'button', className, onclick, 'aria-label': what, 'data-name': what }, label);

export function showStatus(status) {
  const facts = [
    ['Running', status.running], ['Waiting', status.waiting], ['To deliver', status.pending], ['Dead letters', status.dead],
    ['Claude', `${status.claude.running} running, ${status.claude.idle} idle`], ['Claude Code', status.claude.version ?? 'not known yet'],
    ['Version', status.version], ['Started', status.started],
  ];
  put('summary', facts, () => facts.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, name === 'Started' ? moment(value) : String(value)))));
  put('problems', status.problems ?? [], (problems) => problems.length === 0 ? empty('There are no problems.') : el('ul', {},
    ...problems.map((p) => el('li', { className: p.severity === 'error' ? 'error' : '' }, el('p', {}, ...prose(p.text)), el('p', { className: 'faint' }, ...prose(p.advice ?? '')),
      el('p', { className: 'faint' }, p.since ? 'Since ' : '', moment(p.since))))));
}

export function showPlugins(plugins, restart) {
  put('plugins', plugins, () => plugins.length === 0 ? empty('No plugins are configured.') : table('Plugins',
    [['Plugin'], ['State'], ['Connection'], ['Since'], ['Restarts'], ['Actions', 'buttons']],
    plugins.map((p) => [p.name, prose(p.detail ? `${p.state}: ${p.detail}` : p.state), p.connection ?? '', moment(p.since), String(p.restarts ?? 0),
      p.state === 'disabled' ? '' : act('Restart', `Restart ${p.name}`, () => restart(p))])));
}

export function showQueue(queue, stop) {
  put('queue', queue.lanes, (lanes) => lanes.length === 0 ? empty('Nothing waits, and nothing runs.') : table('Queue',
    [['Session'], ['Kind'], ['State'], ['Waiting'], ['First message'], ['Attempts'], ['Actions', 'buttons']],
    lanes.map((l) => [l.session, l.lane, l.running ? 'running' : 'waiting', String(l.waiting), moment(l.since), String(l.attempts),
      l.running && l.lane === 'turn' ? act('Stop', `Stop the turn of ${l.session}`, () => stop(l)) : ''])));
  put('deliveries', queue.destinations, (all) => all.length === 0 ? empty('Everything is delivered.') : table('Deliveries',
    [['Chat'], ['Messages'], ['Next attempt'], ['Attempts'], ['Last error', 'text']],
    all.map((d) => [place(d.to), String(d.pending), d.next_at ? moment(d.next_at) : 'now', String(d.attempts), d.last_error ?? ''])));
}

export function showPairings(pairings, approve, reject) {
  put('pairings', pairings, () => pairings.length === 0 ? empty('Nobody asks to be let in.') : table('Pairing requests',
    [['Name'], ['User'], ['Code'], ['Expires'], ['Actions', 'buttons']],
    pairings.map((p) => [p.name, `${p.channel}:${p.user}`, el('code', {}, p.code), moment(p.expires_at),
      el('div', { className: 'acts' }, act('Approve', `Approve ${p.code} of ${p.channel}`, () => approve(p), 'main'), act('Reject', `Reject ${p.code} of ${p.channel}`, () => reject(p)))])));
}

export function showDead(letters, total, retry, drop) {
  put('dead', [letters, total], () => letters.length === 0 ? empty('There are none.') : [
    ...(total > letters.length ? [empty(`The newest ${letters.length} of ${total} are shown.`)] : []),
    table('Dead letters', [['To'], ['Text', 'text'], ['Given up'], ['Error', 'text'], ['Actions', 'buttons']],
      letters.map((d) => [place(d.to), d.text || (d.files ?? []).map((f) => f.name ?? f.kind).join(', '), moment(d.died_at), d.error,
        el('div', { className: 'acts' }, act('Retry', `Retry message ${d.id}`, () => retry(d)), act('Drop', `Drop message ${d.id}`, () => drop(d), 'bad'))])),
  ]);
}

const shownSessions = 50;

export function showSessions(sessions) {
  const latest = sessions.toSorted((a, b) => (b.interacted_at ?? '').localeCompare(a.interacted_at ?? '')).slice(0, shownSessions);
  put('sessions', latest, () => latest.length === 0 ? empty('There are no sessions yet.') : [
    ...(sessions.length > latest.length ? [empty(`The ${latest.length} used last are shown.`)] : []),
    table('Sessions', [['Session'], ['Title'], ['Agent'], ['Last message'], ['Turns'], ['Tokens'], ['Cost']],
      latest.map((s) => [s.key, s.title ?? '', s.agent, moment(s.interacted_at), s.usage.turns.toLocaleString(), tokens(s.usage).toLocaleString(), dollars(s.usage.cost_micros)])),
  ]);
}
