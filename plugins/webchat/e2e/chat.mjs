// Tries the chat page in a real browser, against a host whose answers hold the last line of what it was told, as those of
// the demo do.
//
//	node chat.mjs 'http://127.0.0.1:7080/#token=…'
//
// CHROMIUM names the browser (default /usr/bin/chromium); SCREENSHOTS a folder for pictures of what was seen. RIG says
// that the host was made for this test: its answers are what it was told, and when a line on stdout says "stop" or "start"
// it does so and says on stdin, with a line, that it is done.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

const link = process.argv[2];
if (!link) {
  console.error("usage: node chat.mjs 'http://127.0.0.1:7080/#token=…'");
  process.exit(2);
}
const pictures = process.env.SCREENSHOTS;
if (pictures) await mkdir(pictures, { recursive: true });

const profile = await mkdtemp(join(tmpdir(), 'webchat-e2e-'));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync',
  ],
  viewport: { width: 1100, height: 800 },
  colorScheme: 'light',
});
context.setDefaultTimeout(20_000);

const page = await context.newPage();
const complaints = []; // what the browser says is wrong, with what the content policy refused
page.on('pageerror', (error) => complaints.push(String(error)));
page.on('console', (message) => {
  if (message.type() === 'error' && !/ERR_INTERNET_DISCONNECTED|ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|401/.test(message.text())) complaints.push(message.text());
});
const elsewhere = []; // requests to anything but the page's own server
context.on('request', (request) => {
  if (new URL(request.url()).origin !== new URL(link).origin) elsewhere.push(request.url());
});

const picture = async (name) => pictures && page.screenshot({ path: join(pictures, `${name}.png`) });
const step = async (name, run) => {
  await run();
  console.log(`ok - ${name}`);
};
const text = page.getByRole('textbox', { name: 'Message' });
const mine = (words) => page.locator('#messages > .user', { hasText: words });
const answer = (words) => page.locator('#messages > .agent', { hasText: words });
const write = async (words) => {
  await text.fill(words);
  await page.keyboard.press('Enter');
};
const lines = process.env.RIG ? createInterface({ input: process.stdin })[Symbol.asyncIterator]() : null;
const tell = async (what) => {
  console.log(what);
  await lines.next();
};
const mark = `n${Date.now().toString(36)}`; // tells this run's messages from those of earlier ones

try {
  await step('the link opens the page and its token leaves the address bar', async () => {
    await page.goto(link);
    await page.getByText('Connected', { exact: true }).waitFor();
    assert.equal(new URL(page.url()).hash, '');
    assert.equal(await page.locator('#locked').isVisible(), false);
  });

  await step('Enter sends, and the answer comes', async () => {
    await write(`hello ${mark}`);
    await mine(`hello ${mark}`).waitFor();
    await answer(`hello ${mark}`).waitFor();
    assert.equal(await text.inputValue(), '');
  });

  await step('Shift+Enter begins a line', async () => {
    await text.fill('above');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type(`below ${mark}`);
    await page.keyboard.press('Enter');
    await answer(`below ${mark}`).waitFor();
    assert.match(await mine(`below ${mark}`).locator('.body').textContent(), /^above\nbelow/);
  });

  await step('HTML and scripts in an answer stay text', async () => {
    const attack = `attack ${mark} <img src=x onerror="window.attacked=1"> <script>window.attacked=1</script> ` +
      '[link](javascript:window.attacked=1) ![picture](http://192.0.2.1/seen.png)';
    await write(attack);
    await answer(`attack ${mark}`).waitFor();
    const body = answer(`attack ${mark}`).locator('.body');
    assert.match(await body.textContent(), /<img src=x onerror="window.attacked=1">/);
    assert.equal(await body.locator('img, script').count(), 0);
    assert.equal(await body.locator('a[href^="javascript"]').count(), 0);
    assert.equal(await mine(`attack ${mark}`).locator('.body *').count(), 0);
    assert.equal(await page.evaluate(() => window.attacked), undefined);
  });

  await step('Markdown in an answer is rendered', async () => {
    await write(`words ${mark} are **bold**, \`code\` and https://example.org`);
    const body = answer(`words ${mark}`).locator('.body');
    await body.waitFor();
    for (const part of ['strong', 'code', 'a[target=_blank][rel="noopener noreferrer"]']) {
      assert.equal(await body.locator(part).count(), 1, part);
    }
  });

  if (process.env.RIG) {
    await step('tables, lists and code are rendered', async () => {
      await write(`shape ${mark}\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n- one\n- two\n\n\`\`\`go\nfmt.Println("hi")\n\`\`\``);
      const body = answer(`shape ${mark}`).locator('.body');
      await body.waitFor();
      for (const part of ['table', 'ul', '.codeblock pre code']) assert.equal(await body.locator(part).count(), 1, part);
    });

    await step('a lost connection comes back by itself, and what was written meanwhile is sent', async () => {
      await tell('stop');
      await page.getByText('Disconnected, trying again…').waitFor();
      await write(`meanwhile ${mark}`);
      await mine(`meanwhile ${mark}`).getByText('Sending…').waitFor();
      await tell('start');
      await page.getByText('Connected', { exact: true }).waitFor();
      await answer(`meanwhile ${mark}`).waitFor();
      assert.equal(await mine(`meanwhile ${mark}`).count(), 1);
      assert.equal(await answer(`hello ${mark}`).count(), 1);
    });
  }

  await step('a message written while there is no network is sent once, after a reload', async () => {
    await context.setOffline(true);
    await write(`offline ${mark}`);
    await mine(`offline ${mark}`).getByText('Sending…').waitFor();
    await page.reload().catch(() => {}); // the page itself does not come either
    await context.setOffline(false);
    await page.goto(link.split('#')[0]);
    await answer(`offline ${mark}`).waitFor();
    assert.equal(await mine(`offline ${mark}`).count(), 1);
    await mine(`offline ${mark}`).getByText('Sending…').waitFor({ state: 'detached' });
  });

  await step('the history is there after a reload, in order', async () => {
    await page.reload();
    await answer(`offline ${mark}`).waitFor();
    const all = await page.locator('#messages > li').evaluateAll((items) => items.map((li) => Number(li.dataset.seq)));
    assert.deepEqual(all, all.toSorted((a, b) => a - b));
    assert.equal(await mine(`hello ${mark}`).count(), 1);
    assert.equal(await answer(`hello ${mark}`).count(), 1);
    await picture('light');
    await page.emulateMedia({ colorScheme: 'dark' });
    await picture('dark');
    await page.setViewportSize({ width: 390, height: 780 });
    await picture('phone');
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
    assert.equal(wide, false, 'the page is wider than a phone');
    await page.setViewportSize({ width: 1100, height: 800 });
  });

  await step('a second tab sees what is said in the first', async () => {
    const second = await context.newPage();
    await second.goto(link.split('#')[0]);
    await second.getByText('Connected', { exact: true }).waitFor();
    await page.bringToFront();
    await write(`both ${mark}`);
    await second.locator('#messages > .agent', { hasText: `both ${mark}` }).waitFor({ state: 'attached' });
    await second.close();
  });

  await step('a wrong token shows nothing', async () => {
    await page.evaluate(() => localStorage.setItem('clawhost.token', 'wrong'));
    await page.reload();
    await page.getByText('This page needs its link').waitFor();
    assert.equal(await page.locator('#messages > li').count(), 0);
    await picture('locked');
    await page.goto(link);
    await answer(`both ${mark}`).waitFor();
  });

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
