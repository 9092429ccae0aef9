// Tries the chat page in a real browser, against a host whose answers hold the last line of what it was told, as those of
// the demo do.
//
//	node chat.mjs 'http://127.0.0.1:7080/#token=…'
//
// RIG says that the host was made for this test: its answers are what it was told, and when a line on stdout says "stop" or
// "start" it does so and says on stdin, with a line, that it is done; at "seen" an answer that has stopped grows on. More variables
// are those of browser.mjs.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { answer, attempt, context, link, mine, page, picture, step, tell, text, waitUntil, write } from './browser.mjs';
import { pale } from './contrast.mjs';

// A picture of one dot.
const dot = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

const mark = `n${Date.now().toString(36)}`; // tells this run's messages from those of earlier ones

await attempt(async () => {
  await step('the link opens the page and its token leaves the address bar', async () => {
    await page.goto(link);
    await page.getByText('Connected', { exact: true }).waitFor();
    assert.equal(new URL(page.url()).hash, '');
    assert.equal(await page.locator('#locked').isVisible(), false);
    const before = await (await page.request.get(link.split('#')[0])).text();
    assert.match(before, /<title>Claw<\/title>/, 'before it knows its name');
  });

  await step('Enter sends, and the answer comes', async () => {
    await write(`hello ${mark}`);
    await mine(`hello ${mark}`).waitFor();
    await answer(`hello ${mark}`).waitFor();
    assert.equal(await text.inputValue(), '');
  });

  await step('the host learns who types: once in a while, when the box is emptied, and again after a message', async () => {
    const told = [];
    const note = (request) => request.url().endsWith('/api/typing') && told.push(request.postDataJSON().stopped);
    page.on('request', note);
    await text.pressSequentially('one');
    await text.pressSequentially(' two');
    await waitUntil(() => told.length > 0);
    await text.fill('');
    await waitUntil(() => told.at(-1));
    assert.deepEqual(told, [false, true]);
    await write(`typed ${mark}`);
    await answer(`typed ${mark}`).waitFor();
    told.length = 0;
    await text.pressSequentially('three');
    await waitUntil(() => told.length > 0);
    await text.fill('');
    await waitUntil(() => told.at(-1));
    assert.deepEqual(told, [false, true]);
    page.off('request', note);
  });

  await step('what is written before the page knows what was left unsent is sent, too', async () => {
    const early = await context.newPage();
    await early.addInitScript(() => {
      const { getAll } = IDBObjectStore.prototype;
      IDBObjectStore.prototype.getAll = function (...given) {
        const hold = () => {
          if (!window.released) this.count().onsuccess = hold;
        };
        hold();
        return getAll.apply(this, given);
      };
    });
    await early.goto(link.split('#')[0]);
    await early.getByText('Connected', { exact: true }).waitFor();
    await early.getByRole('textbox', { name: 'Message' }).fill(`early ${mark}`);
    await early.keyboard.press('Enter');
    await early.locator('#messages > .user', { hasText: `early ${mark}` }).getByText('Sending…').waitFor();
    await early.evaluate(() => (window.released = true));
    await early.locator('#messages > .agent', { hasText: `early ${mark}` }).waitFor();
    await early.close();
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
    await step('an answer grows in place, with its tools, and becomes the message', async () => {
      await write(`stream ${mark}`);
      await page.locator('#draft .work', { hasText: 'go test' }).waitFor();
      await page.locator('#stop').waitFor();
      const item = page.locator('#draft ol > li').first();
      await item.waitFor();
      await item.evaluate((li) => (li.mine = true)); // to be known again
      await tell('seen');
      await page.locator('#draft .codeblock code', { hasText: 'func (c *channel)' }).waitFor(); // the fence is open yet
      await picture('streaming');
      await tell('seen');
      const body = answer(`publish the notes next. ${mark}`);
      await body.waitFor();
      assert.equal(await body.locator('ol > li').first().evaluate((li) => li.mine), true, 'the list was made anew');
      assert.equal(await page.locator('#draft').isVisible(), false);
      await page.locator('#stop').waitFor({ state: 'hidden' });
      assert.equal(await body.locator('.work').count(), 0);
      assert.equal(await body.locator('.codehead span').textContent(), 'go');
      assert.equal(await body.locator('table').count(), 1);
      await mine(`stream ${mark}`).locator('.reaction', { hasText: '👍' }).waitFor();
    });

    await step('code is copied', async () => {
      await context.grantPermissions(['clipboard-read', 'clipboard-write']);
      const code = answer(`publish the notes next. ${mark}`).locator('.codeblock');
      await code.getByRole('button', { name: 'Copy' }).click();
      const copied = code.getByRole('button', { name: 'Copied' });
      await copied.waitFor();
      assert.equal(await copied.evaluate((button) => getComputedStyle(button).fontSize), '0px', 'both words are shown');
      assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^func \(c \*channel\) Draft/);
    });

    await step('an answer is copied as the Markdown that it is', async () => {
      const below = answer(`publish the notes next. ${mark}`).locator('.meta');
      await below.getByRole('button', { name: 'Copy the message' }).click();
      await below.getByRole('button', { name: 'Copied' }).waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      assert.match(copied, /^All tests of the web chat pass\.[^]*1\. \*\*The journal\*\* keeps[^]*```go\nfunc \(c/);
      assert.equal(copied.includes('Copy'), false);
    });

    await step('code has colours, in messages of both, and stays text', async () => {
      const samples = {
        go: ['// note "x"\nfunc main() { x := `a` + "<b>\\"" + 42 }', { comment: '// note "x"', keyword: 'func', name: 'main', string: '`a`', number: '42' }],
        py: ['# note\ndef f(x):\n    return """a\nb""" if 1.5 else None', { comment: '# note', keyword: 'def', name: 'f', string: '"""a\nb"""', number: '1.5' }],
        sh: ['# note\nif [ "$x" ]; then echo $y \'z\'; fi', { comment: '# note', keyword: 'if', name: '$y', string: '"$x"' }],
        json: ['{"a": [1, true, "<img src=x onerror=window.attacked=1>"]}', { name: '"a"', number: '1', keyword: 'true', string: '"<img src=x onerror=window.attacked=1>"' }],
        html: ['<!-- note --><script class="x">window.attacked=1</script>', { comment: '<!-- note -->', keyword: '<script', name: 'class', string: '"x"' }],
        SQL: ["select 'x' from t where a = 1 -- note", { keyword: 'select', string: "'x'", number: '1', comment: '-- note' }],
        diff: ['@@ -1 +1 @@\n-old\n+new', { keyword: '@@ -1 +1 @@', removed: '-old', added: '+new' }],
        constructor: ['var x = "y"', {}],
        go2: ['func', {}],
      };
      const fences = Object.entries(samples).map(([language, [code]]) => `\`\`\`${language}\n${code}\n\`\`\``);
      const large = `\`\`\`go\n${'x := "y" '.repeat(5000)}\n\`\`\``;
      await write(`colours ${mark}\n${fences.join('\nand\n')}\n${large}\nthe end\n\`\`\`go\nfunc open`);
      for (const message of [mine(`colours ${mark}`), answer(`colours ${mark}`)]) {
        const code = message.locator('pre code');
        await waitUntil(async () => (await code.count()) === fences.length + 2);
        for (const [at, [source, kinds]] of Object.values(samples).entries()) {
          assert.equal((await code.nth(at).textContent()).replace(/\n$/, ''), source);
          for (const [kind, token] of Object.entries(kinds)) assert.equal(await code.nth(at).locator(`.code-${kind}`).first().textContent(), token, `${source}: ${kind}`);
          assert.equal(await code.nth(at).locator(':not(span)').count(), 0);
          if (!Object.keys(kinds).length) assert.equal(await code.nth(at).locator('span').count(), 0, 'an unknown language has colours');
        }
        assert.equal(await code.nth(fences.length).locator('span').count(), 0, 'a very long text has colours');
        assert.equal(await code.last().locator('.code-keyword').textContent(), 'func');
        assert.equal(await page.evaluate(() => window.attacked), undefined);
      }
      // The text around the blocks is as it was written.
      const around = await mine(`colours ${mark}`).locator('.body').evaluate((body) => [...body.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data));
      assert.deepEqual(around, [`colours ${mark}`, ...fences.slice(1).map(() => 'and'), 'the end']);
      await mine(`colours ${mark}`).getByRole('button', { name: 'Copy' }).first().click();
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), samples.go[0]);
      await mine(`colours ${mark}`).evaluate((message) => message.scrollIntoView());
      await picture('colours');
      for (const colorScheme of ['dark', 'light']) {
        await page.emulateMedia({ colorScheme });
        assert.deepEqual(await page.evaluate(pale), [], colorScheme);
      }
    });

    await step('a number and its unit stay on one line of a table', async () => {
      const note = 'a note that is long enough to take all of the room that there is in the table and more '.repeat(2);
      await write(`sizes ${mark}\n\n| file | size | note |\n|---|---|---|\n| disk | 34 MB | ${note} |\n| all | 1,234,567 MB | ${note} |`);
      const cells = answer(`sizes ${mark}`).locator('td:nth-child(2)');
      await cells.first().waitFor();
      const lines = await cells.evaluateAll((all) => all.map((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return range.getClientRects().length;
      }));
      assert.deepEqual(lines, [1, 1]);
    });

    await step('a screen reader hears a list of messages, and who wrote each', async () => {
      const list = page.getByRole('log', { name: 'Messages' }).getByRole('list').first();
      await list.getByRole('listitem').filter({ hasText: /^Claw:All tests of the web chat pass/ }).waitFor();
      await list.getByRole('listitem').filter({ hasText: new RegExp(`^You:stream ${mark}`) }).first().waitFor();
    });

    await step('a question is answered by a button, once', async () => {
      await write(`ask ${mark}`);
      const group = page.getByRole('group', { name: 'Answers' });
      await group.waitFor();
      await picture('question');
      await group.getByRole('button', { name: 'No, because' }).click();
      await group.getByRole('alert').filter({ hasText: 'refused' }).waitFor();
      assert.equal(await group.getByRole('button', { name: 'Once' }).isEnabled(), true);
      let release;
      await page.route('**/api/buttons', async (route) => {
        await new Promise((resolve) => (release = resolve));
        await route.continue();
      });
      const once = group.getByRole('button', { name: 'Once' });
      await once.click();
      assert.equal(await once.getAttribute('aria-pressed'), 'true');
      assert.equal(await group.getByRole('button', { name: 'Always' }).isDisabled(), true);
      await picture('pressed');
      await waitUntil(() => release);
      release();
      await answer('Allowed once').waitFor();
      await page.unroute('**/api/buttons');
      assert.equal(await group.count(), 0);
    });

    await step('Stop stops', async () => {
      await write(`slow ${mark}`);
      await page.locator('#draft', { hasText: 'Counting' }).waitFor();
      await page.getByRole('button', { name: 'Stop' }).click();
      await answer('Stopped.').waitFor();
      await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
      await write(`slow ${mark} again`);
      await page.locator('#draft', { hasText: 'Counting' }).waitFor();
      await page.keyboard.press('Escape');
      await waitUntil(async () => (await answer('Stopped.').count()) === 2);
    });

    await step('files are attached, pasted and dropped, and what is too much is told before', async () => {
      await page.locator('#files').setInputFiles([
        { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('some notes') },
        { name: 'large.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(21 << 20) },
      ]);
      await page.getByRole('alert').filter({ hasText: 'large.bin is 21 MB large; a file may have 20 MB.' }).waitFor();
      await page.evaluate(async (bytes) => {
        const give = (name, type, event) => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(bytes)], 'dot.png', { type: 'image/png' }));
          document.getElementById('text').dispatchEvent(new (name)(type, { ...event(data), bubbles: true, cancelable: true }));
        };
        give(ClipboardEvent, 'paste', (clipboardData) => ({ clipboardData }));
        give(DragEvent, 'drop', (dataTransfer) => ({ dataTransfer }));
      }, [...dot]);
      await waitUntil(async () => (await page.locator('#attached .thumb img').count()) === 2);
      await picture('attached');
      await page.getByRole('button', { name: 'Remove dot.png' }).last().click();
      await write(`look ${mark}`);
      await answer(`look ${mark} [file notes.txt text/plain] [image dot.png image/png]`).waitFor();
      const own = mine(`look ${mark}`);
      await own.locator('.picture.loaded').waitFor();
      await own.locator('.card', { hasText: 'notes.txt' }).waitFor();
      assert.equal(await page.locator('#attached').isVisible(), false);
    });

    await step('files of an answer are shown, played or saved, and never run', async () => {
      await write(`files ${mark}`);
      const body = answer('Here you are.');
      await body.locator('.picture.loaded').waitFor();
      assert.equal(await body.locator('.picture').count(), 1);
      const box = await body.locator('.picture').boundingBox();
      assert.ok(box.height <= 360 && box.width <= 480, JSON.stringify(box));
      for (const [name, type] of [['evil.svg', /<svg/], ['evil.html', /<script>/]]) {
        const saving = page.waitForEvent('download');
        await body.locator('.card', { hasText: name }).click();
        const saved = await saving;
        assert.equal(saved.suggestedFilename(), name);
        assert.match(await readFile(await saved.path(), 'utf8'), type);
      }
      await body.getByRole('button', { name: 'Play Voice note' }).click();
      await body.locator('audio').waitFor();
      await body.getByRole('button', { name: 'Show sunset.png' }).click();
      await page.locator('#picture[open] img').waitFor();
      await page.keyboard.press('Escape');
      await page.locator('#picture[open]').waitFor({ state: 'hidden' });
      await picture('files');
      assert.equal(await page.evaluate(() => window.attacked), undefined);
    });

    await step('a second conversation begins by keyboard alone, and both go on side by side', async () => {
      await text.focus();
      await page.keyboard.press('Control+k');
      await page.getByRole('heading', { name: 'New conversation', level: 2 }).waitFor();
      await picture('new');
      assert.equal(await page.evaluate(() => document.activeElement.id), 'text');
      await page.keyboard.type('/status ');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: '/status', level: 2 }).waitFor();
      await page.keyboard.type(`# apart **${mark}**`);
      await page.keyboard.press('Enter');
      await answer(`apart ${mark}`).waitFor();
      await page.getByRole('heading', { name: `apart ${mark}`, level: 2, exact: true }).waitFor();
      assert.equal(await answer(`hello ${mark}`).count(), 0);
      await page.reload(); // the address names it
      await answer(`apart ${mark}`).waitFor();
      await page.keyboard.press('Alt+ArrowUp');
      await answer('Here you are.').waitFor();
      assert.equal(await answer(`apart ${mark}`).count(), 0);
      // What is said in one while the other is open is marked.
      await write(`stream ${mark} beside`);
      await mine(`stream ${mark} beside`).waitFor();
      await page.keyboard.press('Alt+ArrowDown');
      await answer(`apart ${mark}`).waitFor();
      const main = page.locator('#conversations li', { hasText: 'Main' });
      await main.locator('.working').waitFor();
      await tell('seen');
      await tell('seen');
      await main.locator('.unread').waitFor();
      assert.match(await page.title(), /^\(1\) /);
      await main.locator('.open').press('Enter');
      await answer(`${mark} beside`).waitFor();
      await main.locator('.unread').waitFor({ state: 'detached' });
      assert.match(await page.title(), /^[^(]/);
    });

    await step('a conversation is renamed and deleted', async () => {
      const item = page.locator('#conversations li', { hasText: `apart ${mark}` });
      await item.locator('.open').focus();
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.keyboard.type('Holiday plans');
      await page.keyboard.press('Enter');
      const renamed = page.locator('#conversations li', { hasText: 'Holiday plans' });
      await renamed.waitFor();
      await renamed.locator('.open').click();
      await answer(`apart ${mark}`).waitFor();
      await renamed.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByText('Delete “Holiday plans”?').waitFor();
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await renamed.waitFor({ state: 'detached' });
      await answer(`hello ${mark}`).waitFor();
    });

    await step('what was said in any conversation is found, and opened', async () => {
      const query = page.getByRole('searchbox', { name: 'Search the conversations' });
      const found = page.locator('#found button');
      await text.focus();
      await page.keyboard.press('Control+k');
      await write(`an aardvark ${mark}`);
      await answer(`an aardvark ${mark}`).waitFor();
      for (let n = 0; n < 30; n++) await write(`filler ${n} ${mark}`);
      await answer(`filler 29 ${mark}`).waitFor();
      await page.locator('#conversations li', { hasText: 'Main' }).locator('.open').click();
      await answer(`hello ${mark}`).waitFor();
      const asked = [];
      const hear = (request) => request.url().includes('/api/search') && asked.push(request.url());
      page.on('request', hear);
      await page.keyboard.press('Control+Shift+f');
      assert.equal(await page.evaluate(() => document.activeElement.id), 'query');
      await page.keyboard.type(`AARDV ${mark.slice(0, -1)}`);
      await waitUntil(async () => (await found.count()) === 3); // a title, a message, an answer
      assert.ok(asked.length < 5, `${asked.length} requests`);
      assert.equal(await page.locator('#conversations').isVisible(), false);
      assert.equal(await found.last().locator('mark').first().textContent(), 'aardv');
      await picture('search');
      for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
      await page.keyboard.press('Enter');
      await page.locator('.revealed', { hasText: `an aardvark ${mark}` }).waitFor();
      const place = await page.locator('.revealed').evaluate((item) => item.getBoundingClientRect().top);
      assert.ok(place > 0 && place < 820, `the message is at ${place}`);
      await query.fill('a[(*\\ zebra');
      await page.getByText('Nothing found.').waitFor();
      await picture('search-nothing');
      await context.setOffline(true);
      await query.fill('later');
      await page.locator('#searched', { hasText: 'The host cannot be reached.' }).waitFor();
      await context.setOffline(false);
      await query.press('Escape');
      assert.equal(await page.locator('#conversations').isVisible(), true);
      page.off('request', hear);
      await page.getByText('Connected', { exact: true }).waitFor();
      // On a phone the list covers the messages.
      await page.setViewportSize({ width: 390, height: 844 });
      await page.getByRole('button', { name: 'Conversations' }).click();
      await query.fill('aardvark');
      await found.first().waitFor();
      await picture('search-phone');
      // The message that was opened fades back to its own background.
      await page.evaluate(() => Promise.all(document.getAnimations().filter((a) => a.effect.getComputedTiming().endTime !== Infinity).map((a) => a.finished)));
      for (const colorScheme of ['dark', 'light']) {
        await page.emulateMedia({ colorScheme });
        assert.deepEqual(await page.evaluate(pale), [], colorScheme);
      }
      await found.first().click();
      await page.locator('#sidebar').waitFor({ state: 'hidden' });
      await page.setViewportSize({ width: 1200, height: 820 });
      await query.press('Escape');
      await page.locator('#conversations li', { hasText: 'Main' }).locator('.open').click();
      await answer(`hello ${mark}`).waitFor();
    });

    await step('commands are completed', async () => {
      await text.pressSequentially('/st');
      const options = page.getByRole('option');
      await waitUntil(async () => (await options.count()) === 2);
      assert.match(await options.last().textContent(), /drop what waits, or keep it$/);
      assert.equal(await options.last().locator('code').textContent(), 'keep');
      await picture('commands');
      await page.keyboard.press('ArrowDown');
      assert.equal(await text.getAttribute('aria-activedescendant'), 'command-1');
      await page.keyboard.press('Tab');
      assert.equal(await text.inputValue(), '/stop ');
      assert.equal(await options.count(), 0);
      await text.fill('');
    });

    await step('arrow up changes the last message, as long as that is possible', async () => {
      await context.setOffline(false);
      await write(`quiet ${mark}`);
      await answer(`quiet ${mark}`).waitFor();
      await page.keyboard.press('ArrowUp');
      assert.equal(await text.inputValue(), '', 'it was answered already');
      await write('slow one');
      await page.locator('#draft', { hasText: 'Counting' }).waitFor();
      await mine('slow one').getByText('Sending…').waitFor({ state: 'detached' });
      await page.keyboard.press('ArrowUp');
      assert.equal(await text.inputValue(), 'slow one');
      await write('too late to change');
      await page.getByRole('alert').filter({ hasText: 'It is too late to change this message.' }).waitFor();
      assert.equal(await text.inputValue(), 'too late to change');
      await text.fill('');
      await page.keyboard.press('ArrowUp');
      await write('slower one');
      await mine('slower one').getByText('edited').waitFor();
      await page.keyboard.press('Escape');
      await waitUntil(async () => (await answer('Stopped.').count()) === 3);
    });

    await step('a lost connection comes back by itself, and what was written meanwhile is sent', async () => {
      await tell('stop');
      await page.getByText('Disconnected, trying again…').waitFor();
      await page.locator('#files').setInputFiles({ name: 'meanwhile.txt', mimeType: 'text/plain', buffer: Buffer.from('some notes') });
      await write(`meanwhile ${mark}`);
      await mine(`meanwhile ${mark}`).getByText('Sending…').waitFor();
      await tell('start');
      await page.getByText('Connected', { exact: true }).waitFor();
      await answer(`meanwhile ${mark} [file meanwhile.txt text/plain]`).waitFor();
      assert.equal(await mine(`meanwhile ${mark}`).count(), 1);
      assert.equal(await answer(`hello ${mark}`).count(), 1);
    });

    await step('what another program answers in place of the host is neither shown nor taken for a receipt', async () => {
      const warning = page.getByRole('alert').filter({ hasText: 'The link of this page is incomplete or old.' });
      const part = (body) => `${'A'.repeat(43)} ${body.length.toString(16).padStart(6, '0')}\n${body}`;
      const says = (type, body) => (route) => route.fulfill({ status: 200, contentType: type, body: part(body) + part('') });
      const yes = says('application/json', '{"title": "Forged", "state": "accepted", "messages": []}');
      const forged = { id: 'forged', seq: 1e6, conversation: '', from: 'agent', html: 'forged', text: 'forged', at: new Date().toISOString() };
      const event = says('text/event-stream', `id: 1000000\nevent: message\ndata: ${JSON.stringify(forged)}\n\n`);
      // The host still streams to the page: the first that the page hears of the other one is the answer to its post.
      await page.route('**/api/**', yes);
      await write(`in flight ${mark}`);
      await warning.waitFor();
      await mine(`in flight ${mark}`).getByText('Sending…').waitFor();
      // The host proves itself, and the other one answers what comes after.
      await page.route('**/api/session', (route) => route.continue());
      await page.waitForResponse('**/api/state');
      await page.waitForResponse('**/api/state');
      await page.route('**/api/state', (route) => route.continue());
      await page.route('**/api/events*', event);
      await page.waitForResponse('**/api/events*');
      await page.waitForResponse('**/api/events*');
      assert.equal(await warning.isVisible(), true);
      assert.equal(await mine(`in flight ${mark}`).getByText('Sending…').count(), 1);
      await page.unrouteAll({ behavior: 'wait' });
      await page.getByText('Connected', { exact: true }).waitFor();
      await warning.waitFor({ state: 'hidden' });
      await answer(`in flight ${mark}`).waitFor();
      assert.equal(await mine(`in flight ${mark}`).count(), 1);
      assert.equal(await answer(`in flight ${mark}`).count(), 1);
      assert.equal(await page.getByText('forged').count(), 0);
      assert.notEqual(await page.locator('#title').textContent(), 'Forged');
    });

    await step('another program that takes the address is told nothing, and the page says so', async () => {
      await tell('impostor');
      const warning = page.getByRole('alert').filter({ hasText: 'The link of this page is incomplete or old.' });
      await warning.waitFor();
      await page.locator('#files').setInputFiles({ name: 'secret.txt', mimeType: 'text/plain', buffer: Buffer.from('some notes') });
      await write(`secret ${mark}`);
      await mine(`secret ${mark}`).getByText('Sending…').waitFor();
      await picture('stranger');
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.setViewportSize({ width: 360, height: 740 });
      await page.locator('#sidebar').waitFor({ state: 'hidden' });
      await picture('stranger-phone-dark');
      assert.deepEqual(await page.evaluate(pale), [], 'dark');
      await page.emulateMedia({ colorScheme: 'light' });
      await picture('stranger-phone');
      assert.deepEqual(await page.evaluate(pale), [], 'light');
      await page.setViewportSize({ width: 1200, height: 820 });
      await tell('asked again');
      await tell('start');
      await page.getByText('Connected', { exact: true }).waitFor();
      await warning.waitFor({ state: 'hidden' });
      await answer(`secret ${mark} [file secret.txt text/plain]`).waitFor();
      assert.equal(await mine(`secret ${mark}`).count(), 1);
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
  });

  await step('nothing scrolls but what is read, not even by a script or by what is sought in the page', async () => {
    for (const size of [{ width: 1280, height: 800 }, { width: 390, height: 844 }]) {
      await page.setViewportSize(size);
      await waitUntil(() => page.locator('#scroll').evaluate((main) => main.scrollHeight > main.clientHeight));
      const moved = await page.evaluate(() => {
        const root = document.documentElement;
        const found = root.scrollHeight === innerHeight ? [] : [`the document is ${root.scrollHeight} high`];
        for (const each of document.querySelectorAll('body *')) each.scrollIntoView({ block: 'start', inline: 'start' });
        for (const each of [root, document.body, document.getElementById('chat')]) each.scrollTo(100_000, 100_000);
        for (const each of document.querySelectorAll('*')) {
          if ((each.scrollTop || each.scrollLeft) && !each.matches('#scroll, nav, pre, .table')) found.push(`${each.tagName}#${each.id} scrolled`);
        }
        const { top, left } = document.getElementById('chat').getBoundingClientRect();
        if (top !== 0 || left !== (innerWidth > 832 ? 280 : 0)) found.push(`the chat is at ${left}, ${top}`);
        return found;
      });
      assert.deepEqual(moved, [], `at a width of ${size.width}`);
    }
    await page.setViewportSize({ width: 1200, height: 820 });
  });

  await step('light and dark follow the system, or the switch, and stay', async () => {
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = await ground();
    assert.notEqual(dark, light);
    await picture('dark');
    await page.getByRole('radio', { name: 'Light' }).check({ force: true });
    assert.equal(await ground(), light);
    await page.reload();
    assert.equal(await ground(), light);
    await page.getByRole('radio', { name: 'Dark' }).check({ force: true });
    await page.emulateMedia({ colorScheme: 'light' });
    assert.equal(await ground(), dark);
    await page.getByRole('radio', { name: 'As the system' }).check({ force: true });
    assert.equal(await ground(), light);
  });

  await step('what is read has enough contrast', async () => {
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      assert.deepEqual(await page.evaluate(pale), [], colorScheme);
    }
    await page.emulateMedia({ colorScheme: 'light' });
  });

  await step('it fits a phone', async () => {
    for (const width of [360, 390]) {
      await page.setViewportSize({ width, height: 740 });
      const wide = await page.evaluate(() => [...document.querySelectorAll('body, #scroll')].some((each) => each.scrollWidth > each.clientWidth));
      assert.equal(wide, false, `the page is wider than ${width} pixels`);
    }
    await page.locator('#scroll').evaluate((scroll) => (scroll.scrollTop = scroll.scrollHeight));
    await picture('phone');
    await page.getByRole('button', { name: 'Conversations' }).click();
    await page.getByRole('button', { name: 'New conversation' }).waitFor();
    assert.equal(await page.locator('#chat').evaluate((chat) => chat.inert), true);
    await page.waitForFunction(() => document.getElementById('sidebar').getBoundingClientRect().left === 0);
    await picture('phone-list');
    await page.keyboard.press('Escape');
    await page.locator('#sidebar').waitFor({ state: 'hidden' });
    assert.equal(await page.evaluate(() => document.activeElement.id), 'menu');
    await page.emulateMedia({ colorScheme: 'dark' });
    await picture('phone-dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1200, height: 820 });
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

  await step('a wrong token shows nothing, and what to do', async () => {
    await page.evaluate(() => localStorage.setItem('clawhost.name', 'Ada'));
    await page.goto(link.slice(0, -12));
    const alert = page.getByRole('alert').filter({ hasText: 'incomplete or old' });
    await alert.waitFor();
    assert.match(await alert.innerText(), /^The link of this page is incomplete or old\. Run clawhost open where the host runs.*another program may answer/s);
    await page.getByText('Not verified', { exact: true }).waitFor();
    assert.equal(await page.title(), 'Ada', 'the name that the page had last');
    assert.equal(await page.locator('#title').textContent(), 'Ada');
    assert.equal(new URL(page.url()).hash, '');
    assert.equal(await page.locator('#messages > li').count(), 0);
    await picture('old-link');
    await page.goto(link);
    await answer(`both ${mark}`).waitFor();
  });

  await step('no script can read the token, and a page without its key shows nothing', async () => {
    const { kept, readable } = await page.evaluate(async () => {
      const db = await new Promise((resolve) => (indexedDB.open('clawhost.key').onsuccess = ({ target }) => resolve(target.result)));
      const key = await new Promise((resolve) => (db.transaction('keys').objectStore('keys').get('key').onsuccess = ({ target }) => resolve(target.result)));
      const readable = await crypto.subtle.exportKey('raw', key).then(() => true, () => false);
      await new Promise((resolve) => {
        const clearing = db.transaction('keys', 'readwrite');
        clearing.objectStore('keys').clear();
        clearing.oncomplete = resolve; // a reload would abort it
      });
      return { kept: JSON.stringify([{ ...localStorage }, { ...sessionStorage }]), readable };
    });
    assert.equal(readable, false);
    assert.equal(kept.includes(link.split('token=')[1]), false);
    await page.reload();
    await page.getByText('This page needs its link').waitFor();
    await page.locator('#locked').getByText('clawhost open').waitFor();
    assert.equal(await page.locator('#messages > li').count(), 0);
    await picture('locked');
  });

  await step('the token that an earlier version kept is taken over, and kept no longer', async () => {
    await page.evaluate((token) => localStorage.setItem('clawhost.token', token), link.split('token=')[1]);
    await page.reload();
    await answer(`both ${mark}`).waitFor();
    assert.equal(await page.evaluate(() => localStorage.getItem('clawhost.token')), null);
  });

  await step('localhost leads to the one address that nobody else can hold', async () => {
    await page.goto(link.replace('127.0.0.1', 'localhost'));
    await answer(`both ${mark}`).waitFor();
    assert.equal(new URL(page.url()).hostname, '127.0.0.1');
  });
});
