// Plots of how long people have waited in each hour of the last days, and the same as a table.

import { el, empty, put, table } from './element.js';
import { discard, draw, isDark, style, whenColored } from './plots.js';

const hour = 3600;
const hours = 7 * 24;
const steps = [0.001, 0.01, 0.1, 1].flatMap((n) => [n, 2 * n, 5 * n]).concat([10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400]); // of an axis
let last = [];

// took says how long some seconds are.
function took(seconds) {
  if (seconds === 0) return '0';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 100) return `${Number(seconds.toPrecision(2))} s`;
  if (seconds < 100 * 60) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / hour)} h`;
}

const two = (n) => String(n).padStart(2, '0');

// dayOf names the day of a time where the reader is, and timeOf also the hour.
function dayOf(seconds) {
  const at = new Date(seconds * 1000);
  return `${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}
const timeOf = (seconds) => `${dayOf(seconds)} ${two(new Date(seconds * 1000).getHours())}:00`;

// lines plots one kind of waits. An hour without is a gap.
function lines(title, kind, byHour, xs) {
  const { axis, accent, faint } = style();
  const values = (of) => xs.map((x) => (byHour.get(x)?.[kind].count ? byHour.get(x)[kind][of] / 1000 : null));
  const line = (stroke, dash) => ({ stroke, dash, width: 2, points: { show: true, size: 3, fill: stroke }, spanGaps: false });
  const options = {
    scales: { x: { range: [xs[0], xs.at(-1) + 2 * hour] }, y: { range: (_, __, max) => [0, max * 1.1 || 1] } },
    axes: [
      { ...axis, space: 60, incrs: [6 * hour, 24 * hour, 48 * hour], values: (_, all) => all.map(dayOf) },
      { ...axis, incrs: steps, size: 64, values: (_, all) => all.map(took) },
    ],
    series: [{}, line(faint, [6, 4]), line(accent)],
  };
  return [
    el('h3', {}, title, el('span', { className: 'key median' }, 'median'), el('span', { className: 'key most' }, '95th percentile')),
    draw('latency', options, [xs, values('p95_ms'), values('median_ms')]),
  ];
}

export function showLatency(list) {
  last = list;
  const now = Math.floor(Date.now() / 1000 / hour) * hour;
  put('latency', [list, isDark(), now], () => {
    discard('latency');
    if (list.length === 0) return empty('Nobody has waited for a turn.');
    const byHour = new Map(list.map((h) => [Date.parse(h.at) / 1000, h]));
    const xs = Array.from({ length: hours + 1 }, (_, i) => now - (hours - i) * hour);
    const cell = (s) => (s.count ? `${took(s.median_ms / 1000)} / ${took(s.p95_ms / 1000)}` : '');
    return [
      ...lines('Until the first word', 'first_word', byHour, xs),
      ...lines('Until the whole answer', 'answer', byHour, xs),
      el('details', {}, el('summary', {}, 'As a table'), el('p', { className: 'faint' }, 'The median, and the 95th percentile.'), table('Latency by hour', [['Hour'], ['Turns'], ['First word'], ['Answer']],
        list.toReversed().map((h) => [timeOf(Date.parse(h.at) / 1000), h.answer.count.toLocaleString(), cell(h.first_word), cell(h.answer)]))),
    ];
  });
}

whenColored(() => showLatency(last));
