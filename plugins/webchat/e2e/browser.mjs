// A page of the web chat in a real browser, and what the scripts beside this one do with it.
//
// CHROMIUM names the browser (default /usr/bin/chromium); SCREENSHOTS a folder for pictures of what was seen.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

export const link = process.argv[2];
if (!link) {
  console.error(`usage: node ${process.argv[1]} 'http://127.0.0.1:7080/#token=…'`);
  process.exit(2);
}
const pictures = process.env.SCREENSHOTS;
if (pictures) await mkdir(pictures, { recursive: true });

const profile = await mkdtemp(join(tmpdir(), 'webchat-e2e-'));
export const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync',
  ],
  viewport: { width: 1200, height: 820 },
  acceptDownloads: true,
  colorScheme: 'light',
});
context.setDefaultTimeout(60_000);

export const page = await context.newPage();
const complaints = []; // what the browser says is wrong, with what the content policy refused
page.on('pageerror', (error) => complaints.push(String(error)));
page.on('console', (message) => {
  if (message.type() === 'error' && !/ERR_INTERNET_DISCONNECTED|ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|401|409|422/.test(message.text())) complaints.push(message.text());
});
const elsewhere = []; // requests to anything but the page's own server
context.on('request', (request) => {
  const own = [new URL(link).origin, new URL(link).origin.replace('127.0.0.1', 'localhost')]; // the second leads to the first
  if (!own.includes(new URL(request.url()).origin) && !request.url().startsWith(`blob:${own[0]}/`)) elsewhere.push(request.url());
});

export const picture = async (name) => pictures && page.screenshot({ path: join(pictures, `${name}.png`) });
export const step = async (name, run) => {
  await run();
  console.log(`ok - ${name}`);
};
export const text = page.getByRole('textbox', { name: 'Message' });
export const mine = (words) => page.locator('#messages > .user', { hasText: words });
export const answer = (words) => page.locator('#messages > .agent', { hasText: words });
export const write = async (words) => {
  await text.fill(words);
  await page.keyboard.press('Enter');
};
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
// tell has whoever runs this do something, and waits until it is done.
export const tell = async (what) => {
  console.log(what);
  await lines.next();
};
export const waitUntil = async (holds) => {
  for (const begun = Date.now(); !(await holds()); ) {
    assert.ok(Date.now() - begun < 20_000, `never came true: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

// attempt runs the steps and leaves the browser, with exit code 1 if one of them failed or the browser found something wrong.
export async function attempt(steps) {
  try {
    await steps();
    assert.deepEqual(complaints, [], 'the browser complained');
    assert.deepEqual(elsewhere, [], 'the page asked another server');
  } catch (error) {
    await picture('failed').catch(() => {});
    console.error(error);
    console.error('browser:', complaints);
    process.exitCode = 1;
  } finally {
    process.stdin.destroy();
    await context.close();
    await rm(profile, { recursive: true, force: true });
  }
}
