// Tries the chat page in a real browser, against a real host with the stand-in for claude, which does what the messages say.
//
//	node host.mjs 'http://127.0.0.1:7080/#token=…' FOLDER
//
// FOLDER is the home of the host. A tool that reads a pipe there waits until it is written to. When a line on stdout says
// "restart" the host is killed and started again; a line on stdin says that it works. More variables are those of browser.mjs.

import assert from 'node:assert/strict';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { answer, attempt, link, mine, page, picture, step, tell, text, waitUntil, write } from './browser.mjs';

const home = process.argv[3];
// order writes words, and what the stand-in is to do at them.
const order = (script, words) => write(`[[stub ${JSON.stringify(script)}]] ${words}`);
const held = (pipe) => `cat $HOME/${pipe}`;
const release = (pipe) => writeFile(join(home, pipe), '');
const exists = (name) => access(join(home, name)).then(() => true, () => false);
const draft = page.locator('#draft');
const stop = page.getByRole('button', { name: 'Stop' });
const group = page.getByRole('group', { name: 'Answers' });

await attempt(async () => {
  await step('the page connects', async () => {
    await page.goto(link);
    await page.getByText('Connected', { exact: true }).waitFor();
    assert.equal(await page.locator('#demo').isVisible(), false);
  });

  await step('an answer grows, after its tool, and becomes the message', async () => {
    const whole = 'one two three four five six seven eight nine ten eleven twelve';
    await order({ tool: held('tea'), token_delay_ms: 150, answer: whole }, 'count');
    await draft.locator('.work', { hasText: 'cat $HOME/tea' }).waitFor();
    await stop.waitFor();
    await picture('host-tool');
    await release('tea');
    await draft.filter({ hasText: /one two/ }).filter({ hasNotText: 'twelve' }).waitFor();
    await picture('host-growing');
    await answer(whole).waitFor();
    assert.equal(await draft.isVisible(), false);
    assert.equal(await answer(whole).count(), 1);
    await stop.waitFor({ state: 'hidden' });
  });

  await step('Stop ends a turn, and what was written stays', async () => {
    await order({ hang: 'stream', answer: 'once upon a time there was a frog' }, 'tell me');
    await draft.filter({ hasText: 'once upon' }).waitFor();
    await stop.click();
    await answer('Stopped.').waitFor();
    await answer('once upon a').waitFor();
    await stop.waitFor({ state: 'hidden' });
    assert.equal(await answer('there was a frog').count(), 0);
  });

  await step('leave is given by a button, and not without', async () => {
    await order({ tool: 'touch $HOME/pie', ask: true, answer: 'There is pie.' }, 'pie?');
    await group.waitFor();
    await picture('host-question');
    assert.equal(await exists('pie'), false);
    await group.getByRole('button', { name: 'Once' }).click();
    await answer('There is pie.').waitFor();
    await answer(/Allowed once by .* Bash touch/).waitFor();
    assert.equal(await exists('pie'), true);
    assert.equal(await group.count(), 0);
  });

  await step('a choice is made by a button', async () => {
    const questions = [{ question: 'Which tea?', options: [{ label: 'Green' }, { label: 'Black' }] }];
    await order({ questions, say: '$OUTPUT' }, 'make tea');
    await group.getByRole('button', { name: 'Black' }).click();
    await answer('"Which tea?"="Black"').waitFor();
    assert.equal(await group.count(), 0);
  });

  await step('a file goes each way', async () => {
    await page.locator('#files').setInputFiles({ name: 'list.txt', mimeType: 'text/plain', buffer: Buffer.from('milk\n') });
    const copy = 'cat $HOME/clawhost/inbound/*.txt > $(echo $HOME/clawhost/outbound/*)/bought.txt';
    await order({ tool: copy, answer: 'I bought it.' }, 'buy this');
    await mine('buy this').locator('.card', { hasText: 'list.txt' }).waitFor();
    await answer('I bought it.').waitFor();
    const saving = page.waitForEvent('download');
    await answer('').locator('.card', { hasText: 'bought.txt' }).click();
    assert.equal(await readFile(await (await saving).path(), 'utf8'), 'milk\n');
  });

  await step("the host's commands are offered, and taken", async () => {
    await text.pressSequentially('/stat');
    await page.getByRole('option', { name: '/status' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await answer('Context').waitFor();
    await write('/stauts');
    await answer('There is no /stauts. Did you mean /status?').waitFor();
  });

  await step('two conversations go on side by side', async () => {
    await order({ tool: held('bread'), answer: 'The bread is ready.' }, 'bread?');
    await draft.locator('.work', { hasText: 'cat $HOME/bread' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('heading', { name: 'New conversation', level: 2 }).waitFor();
    await order({ answer: 'The soup is ready.' }, 'soup?');
    await answer('The soup is ready.').waitFor();
    await release('bread');
    const main = page.locator('#conversations li', { hasText: 'Main' });
    await main.locator('.unread').waitFor();
    await main.locator('.open').click();
    await answer('The bread is ready.').waitFor();
    assert.equal(await answer('The soup is ready.').count(), 0);
  });

  await step('an answer names the agent that has written it, and the host is none', async () => {
    const by = (words) => answer(words).locator('.by');
    await order({ answer: 'I am the first.' }, 'who?');
    assert.equal(await by('I am the first.').textContent(), 'main');
    await write('/agent server');
    await answer('server answers here now').waitFor();
    assert.equal(await by('server answers here now').count(), 0);
    await order({ answer: 'I am the second.' }, 'and you?');
    assert.equal(await by('I am the second.').textContent(), 'server');
    assert.equal(await answer('I am the second.').locator('.hidden').textContent(), 'server:');
    await picture('host-agents');
    await page.emulateMedia({ colorScheme: 'dark' });
    await picture('host-agents-dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await write('/agent main');
    await answer('main answers here now').waitFor();
  });

  await step('a question outlives the host, and so does the page', async () => {
    await order({ tool: 'touch $HOME/jam', ask: true, again: true, crash: 'orphaned', answer: 'There is jam.' }, 'jam?');
    await group.waitFor();
    await tell('restart');
    await page.getByText('Connected', { exact: true }).waitFor();
    await group.getByRole('button', { name: 'Once' }).click();
    await answer('There is jam.').waitFor();
    assert.equal(await exists('jam'), true);
    await waitUntil(async () => (await group.count()) === 0);
    assert.equal(await answer('There is pie.').count(), 1);
  });
});
