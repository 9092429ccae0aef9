// Tries the state page in a real browser, against a real host.
//
//	node page.mjs 'http://127.0.0.1:8765/' TOKEN
//
// A line on stdout that is no result says what whoever runs this has to do; a line on stdin says that it is done. More variables are
// those of browser.mjs of the web chat.

import assert from 'node:assert/strict';
import { attempt, context, link, page, picture, step, tell } from '../../plugins/webchat/e2e/browser.mjs';

const token = process.argv[3];
const section = (name) => page.getByRole('region', { name });
const question = (text) => section('Open questions').getByRole('group', { name: /^Question/ }).filter({ hasText: text });
const row = (name, text) => section(name).getByRole('row').filter({ hasText: text });

await attempt(async () => {
  await step('nothing is shown without the token', async () => {
    await page.goto(link);
    await page.getByLabel('Token').waitFor();
    await page.getByLabel('Token').fill('a wrong one, long enough');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('alert').filter({ hasText: 'This is not the token; it is admin.token of the config.' }).waitFor();
    await picture('state-login');
  });

  await step('with it, the page says that there is nothing to see', async () => {
    await page.getByLabel('Token').fill(token);
    await page.keyboard.press('Enter');
    await page.getByText('Connected', { exact: true }).waitFor();
    for (const [name, text] of [
      ['Problems', 'There are no problems.'], ['Open questions', 'No question is open.'], ['Pairing requests', 'Nobody asks to be let in.'],
      ['Running turns', 'No turn runs.'], ['Queue', 'Nothing waits, and nothing runs.'], ['Dead letters', 'There are none.'],
      ['Usage of the last 30 days', 'Nothing was used yet.'], ['Latency of the last 7 days', 'Nobody has waited for a turn.'],
    ]) await section(name).getByText(text, { exact: true }).waitFor();
    await row('Plugins', 'telegram').filter({ hasText: 'running' }).filter({ hasText: 'connected' }).waitFor();
    await picture('state-empty');
  });

  await step('the session outlives the page, and is known to its own cookie only with its key', async () => {
    await page.reload();
    await page.getByText('Connected', { exact: true }).waitFor();
    const [cookie] = await context.cookies();
    assert.equal(cookie.httpOnly, true);
    assert.equal(cookie.sameSite, 'Strict');
    assert.equal(await page.evaluate(async () => (await fetch('v1/status')).status), 401);
    assert.equal(await page.evaluate((token) => document.cookie + document.documentElement.outerHTML.includes(token), token), 'false');
  });

  await step('usage is plotted, and is a table', async () => {
    await tell('talk');
    const usage = section('Usage of the last 30 days');
    for (const begun = Date.now(); (await usage.locator('canvas').count()) !== 3; ) {
      assert.ok(Date.now() - begun < 20_000, 'no plots');
      await page.reload();
      await page.getByText('Connected', { exact: true }).waitFor();
    }
    await usage.getByText('As a table').click();
    await usage.getByRole('table').getByRole('row').nth(1).waitFor();
    await usage.scrollIntoViewIfNeeded();
    await picture('state-usage');
    const latency = section('Latency of the last 7 days');
    assert.equal(await latency.locator('canvas').count(), 2);
    await latency.getByText('As a table').click();
    await latency.getByRole('row').nth(1).filter({ hasText: / ms|\d s/ }).waitFor();
    await latency.scrollIntoViewIfNeeded();
    await picture('state-latency');
    await page.evaluate(() => scrollTo(0, 0));
  });

  await step('what a turn writes is seen as it grows, as text', async () => {
    const writes = section('Running turns').getByRole('region', { name: 'What telegram:1000 writes' });
    await tell('write');
    await writes.getByText('Once', { exact: true }).waitFor();
    await tell('word 2');
    await writes.getByText('Once <img', { exact: true }).waitFor();
    await tell('word 3');
    await writes.getByText('Once <img src=x', { exact: true }).waitFor();
    await section('Running turns').scrollIntoViewIfNeeded();
    await picture('state-live');
    await tell('word 4');
    await tell('written');
    await section('Running turns').getByText('No turn runs.').waitFor();
    assert.equal(await page.locator('main img').count(), 0);
    assert.equal(await page.evaluate(() => window.attacked), undefined);
  });

  await step('a question is answered by a click', async () => {
    await tell('ask');
    await question('Claude asks to use Bash.').filter({ hasText: 'touch $HOME/tea' }).filter({ hasText: 'Always: allow always in this chat' }).waitFor();
    await section('Open questions').scrollIntoViewIfNeeded();
    await picture('state-question');
    await question('Bash').getByRole('button', { name: /Once, question/ }).click();
    await section('Open questions').getByText('No question is open.').waitFor();
    await tell('allowed');
  });

  await step('what is typed stays while the page asks on, and is the reason for a no', async () => {
    await tell('ask');
    const why = question('Bash').getByRole('textbox', { name: /Why not/ });
    await why.pressSequentially('there is <b>no</b>', { delay: 10 });
    for (let i = 0; i < 2; i++) await page.waitForResponse((r) => r.url().endsWith('/v1/questions'));
    await why.pressSequentially(' kettle');
    await question('Bash').getByRole('button', { name: /No, question/ }).click();
    await section('Open questions').getByText('No question is open.').waitFor();
    await tell('denied');
  });

  await step('options are chosen, one or several', async () => {
    await tell('choose');
    await question('Which tea?').filter({ hasText: 'from Assam' }).waitFor();
    await picture('state-choice');
    await question('Which tea?').getByRole('button', { name: 'Green, question' }).click();
    const second = question('What with it?');
    assert.equal(await second.getByRole('button', { name: 'Answer' }).isDisabled(), true);
    await second.getByRole('checkbox', { name: 'Milk' }).check();
    await second.getByRole('checkbox', { name: 'Lemon' }).check();
    await picture('state-choices');
    await second.getByRole('button', { name: 'Answer' }).click();
    await question('When?').getByRole('textbox', { name: 'Or in your own words' }).fill('when the <i>bell</i> rings');
    await question('When?').getByRole('button', { name: 'Answer' }).click();
    await section('Open questions').getByText('No question is open.').waitFor();
    await tell('chosen');
  });

  await step('of two answers the first counts, and the second is told', async () => {
    await tell('ask');
    await question('Bash').waitFor();
    let go;
    const held = new Promise((resolve) => { go = resolve; });
    await page.route('**/v1/status', async (route) => { await held; await route.continue(); }); // the page does not see what happens
    await tell('answer in the chat');
    await question('Bash').getByRole('button', { name: /Always, question/ }).click();
    await page.getByRole('alert').filter({ hasText: 'This question has already been answered; the first answer counts: ❌ User1000 denied' }).waitFor();
    await picture('state-second-answer');
    go();
    await page.getByRole('button', { name: 'Close' }).click();
    assert.equal(await page.getByRole('alert').isVisible(), false);
    await section('Open questions').getByText('No question is open.').waitFor();
  });

  await step('a question and a message that waits appear by themselves', async () => {
    await tell('ask');
    await question('Bash').waitFor();
    await tell('wait');
    await row('Queue', 'running').filter({ hasText: 'telegram' }).waitFor();
    await row('Sessions', 'telegram').waitFor({ timeout: 45_000 });
    await page.getByRole('status').filter({ hasText: 'Open questions: 1' }).waitFor({ state: 'attached' });
  });

  await step('a dead letter has its name as somebody wrote it, and runs nothing', async () => {
    await tell('lose');
    await row('Dead letters', 'telegram:<img src=x onerror=window.attacked=1>').filter({ hasText: '<b>lost</b>' }).waitFor();
    await section('Problems').getByRole('listitem').first().waitFor();
    await section('Problems').locator('code').filter({ hasText: /^clawhost queue / }).first().waitFor();
    assert.equal((await section('Problems').innerText()).includes('`'), false);
    assert.equal(await page.evaluate(() => window.attacked), undefined);
    assert.equal(await page.locator('main img, main b').count(), 0);
    await picture('state-light');
  });

  await step('it fits a phone, and the dark', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await page.emulateMedia({ colorScheme: 'dark' });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
    await picture('state-phone-dark');
    await section('Dead letters').scrollIntoViewIfNeeded();
    await picture('state-phone-dark-dead');
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await picture('state-phone-dark-end');
    await section('Open questions').scrollIntoViewIfNeeded();
    await picture('state-phone-dark-question');
    await section('Running turns').scrollIntoViewIfNeeded();
    await picture('state-phone-dark-live');
    await section('Latency of the last 7 days').scrollIntoViewIfNeeded();
    await picture('state-phone-dark-latency');
    await page.emulateMedia({ colorScheme: 'light' });
    await section('Open questions').scrollIntoViewIfNeeded();
    await picture('state-phone-question');
    await page.emulateMedia({ colorScheme: 'dark' });
  });

  await step('somebody is let in by a click', async () => {
    await tell('knock');
    await row('Pairing requests', 'telegram:2000').getByRole('button', { name: /^Approve/ }).click();
    await section('Pairing requests').getByText('Nobody asks to be let in.').waitFor();
    await tell('let in');
  });

  await step('a dead letter is dropped by the keyboard, and not without a second word', async () => {
    const drop = row('Dead letters', 'lost').getByRole('button', { name: /^Drop/ });
    await drop.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await picture('state-phone-dark-drop');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    assert.equal(await drop.count(), 1);
    await drop.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Drop it' }).click();
    await section('Dead letters').getByText('There are none.').waitFor();
  });

  await step('a turn is stopped, and what waits for it begins', async () => {
    await row('Queue', 'running').getByRole('button', { name: 'Stop the turn of telegram:1000' }).click();
    await section('Open questions').getByText('No question is open.').waitFor();
    await tell('cake');
    await section('Queue').getByText('Nothing waits, and nothing runs.').waitFor();
  });

  await step('a plugin is restarted', async () => {
    await row('Plugins', 'telegram').getByRole('button', { name: 'Restart telegram' }).click();
    await page.getByRole('status').filter({ hasText: 'It is restarted.' }).waitFor({ state: 'attached' });
    await row('Plugins', 'telegram').filter({ hasText: 'connected' }).waitFor();
  });

  await step('after the logout the cookie opens nothing', async () => {
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('Token').waitFor();
    assert.deepEqual(await context.cookies(), []);
    assert.equal(await page.evaluate(() => localStorage.length), 0);
    assert.equal(await section('Queue').isVisible(), false);
  });
});
