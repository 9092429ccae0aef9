// Opens the chat page of a host in demo mode.
//
//	node demo.mjs 'http://127.0.0.1:7080/#token=…'
//
// More variables are those of browser.mjs.

import assert from 'node:assert/strict';
import { answer, attempt, link, page, picture, step, write } from './browser.mjs';
import { pale } from './contrast.mjs';

await attempt(async () => {
  await step('the page says that a stand-in answers', async () => {
    await page.goto(link);
    const banner = page.getByRole('status').filter({ hasText: 'Demo: a stand-in answers, not Claude.' });
    await banner.waitFor();
    await write('hello');
    await answer('Demo answer (not Claude)').waitFor();
    await picture('demo');
    await page.setViewportSize({ width: 390, height: 844 });
    await page.locator('#sidebar').waitFor({ state: 'hidden' });
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      assert.deepEqual(await page.evaluate(pale), [], colorScheme);
    }
    await picture('demo-phone-dark');
  });
});
