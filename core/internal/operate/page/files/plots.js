// Plots over time, which are as wide as their place, in the colors of the page.

import { el } from './element.js';

const height = 160;
const dark = matchMedia('(prefers-color-scheme: dark)');
const plots = new Map(); // of uPlot, by place

export const short = new Intl.NumberFormat(undefined, { notation: 'compact' }).format;

// light-dark() is not resolved in custom properties: a probe has the color.
function color(name) {
  const probe = document.body.appendChild(el('span'));
  probe.style.color = getComputedStyle(document.documentElement).getPropertyValue(name);
  const resolved = getComputedStyle(probe).color;
  probe.remove();
  return resolved;
}

export const style = () => ({
  axis: { stroke: color('--faint'), grid: { stroke: color('--line'), width: 1 }, ticks: { show: false } },
  accent: color('--accent'), faint: color('--faint'),
});

const widthOf = (place) => Math.max(240, document.getElementById(place).clientWidth);

// discard ends the plots of a place.
export function discard(place) {
  for (const plot of plots.get(place) ?? []) plot.destroy();
  plots.set(place, []);
}

// draw makes a plot with the options and data of uPlot. A table beside it says the same in words.
export function draw(place, options, data) {
  const frame = el('div', { className: 'plot', 'aria-hidden': 'true' });
  plots.get(place).push(new uPlot({ width: widthOf(place), height, legend: { show: false }, cursor: { show: false }, ...options }, data, frame));
  return frame;
}

export const isDark = () => dark.matches;

// whenColored calls show when the colors of the page have changed.
export const whenColored = (show) => dark.addEventListener('change', show);

addEventListener('resize', () => {
  for (const [place, list] of plots) for (const plot of list) plot.setSize({ width: widthOf(place), height });
});
