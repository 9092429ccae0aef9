// Plots of the usage of the last days, and the same as a table.

import { el, empty, put, table } from './element.js';
import { discard, draw, isDark, short, style, whenColored } from './plots.js';
import { dollars, tokens } from './sections.js';

const day = 86400;
const whole = Array.from({ length: 14 }, (_, i) => [1, 2, 5].map((n) => n * 10 ** i)).flat(); // steps of an axis
let last = [];

// byDay sums up the models of each of the 30 days until the last one with usage. A day without is a zero.
function byDay(list) {
  const days = new Map();
  for (const { day: name, usage } of list) {
    const sum = days.get(name) ?? { turns: 0, tokens: 0, cost: 0 };
    days.set(name, { turns: sum.turns + usage.turns, tokens: sum.tokens + tokens(usage), cost: sum.cost + usage.cost_micros });
  }
  const end = Math.max(...[...days.keys()].map((name) => Date.parse(name) / 1000));
  for (let at = end; at > end - 30 * day; at -= day) {
    if (!days.has(nameOf(at))) days.set(nameOf(at), { turns: 0, tokens: 0, cost: 0 });
  }
  return [...days].sort(([a], [b]) => a.localeCompare(b));
}

const nameOf = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 10);

function bars(title, days, value, format, incrs) {
  const { axis, accent } = style();
  const xs = days.map(([name]) => Date.parse(name) / 1000);
  const options = {
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'), // a day has its name everywhere
    scales: { x: { range: [xs[0] - day / 2, xs.at(-1) + day / 2] }, y: { range: (_, __, max) => [0, max * 1.1 || 1] } },
    axes: [
      { ...axis, space: 60, incrs: [1, 2, 5, 10].map((n) => n * day), values: (_, all) => all.map((at) => nameOf(at).slice(5)) },
      { ...axis, ...(incrs && { incrs }), size: 64, values: (_, all) => all.map(format) },
    ],
    series: [{}, { stroke: accent, fill: accent, paths: uPlot.paths.bars({ size: [0.7, 40] }), points: { show: false } }],
  };
  return [el('h3', {}, title), draw('usage', options, [xs, days.map(([, d]) => value(d))])];
}

export function showUsage(list) {
  last = list;
  put('usage', [list, isDark()], () => {
    discard('usage');
    if (list.length === 0) return empty('Nothing was used yet.');
    const days = byDay(list);
    return [
      ...bars('Turns a day', days, (d) => d.turns, short, whole),
      ...bars('Tokens a day', days, (d) => d.tokens, short, whole),
      ...bars('Cost a day', days, (d) => d.cost / 1e6, (v) => `$${short(v)}`),
      el('details', {}, el('summary', {}, 'As a table'), table('Usage by day', [['Day'], ['Turns'], ['Tokens'], ['Cost']],
        days.toReversed().filter(([, d]) => d.turns > 0).map(([name, d]) => [name, d.turns.toLocaleString(), d.tokens.toLocaleString(), dollars(d.cost)]))),
    ];
  });
}

whenColored(() => showUsage(last));
