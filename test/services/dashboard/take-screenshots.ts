/**
 * `node test/services/dashboard/take-screenshots.ts URL`: the pictures of the documentation, of a dashboard that runs. To have the
 * same fleet as they show: a simulated one of 250 nodes (docs/how-it-works/simulated-fleet.md), half an hour old.
 */
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { ensureChromium } from '../../support/toolchain/chromium.ts';

const PICTURES = join(import.meta.dirname, '../../../docs/images');
const [url = 'http://127.0.0.1:9660', node = 'simulated/node-00003'] = process.argv.slice(2);

const SHOTS = [
  { name: 'dashboard-fleet', path: '/fleet', shows: 'page 1 of', colorScheme: 'light' },
  { name: 'dashboard-images', path: '/images?sort=unused', shows: 'came back', colorScheme: 'light' },
  { name: 'dashboard-node', path: `/node/${node}`, shows: 'Where from', colorScheme: 'dark' },
  { name: 'dashboard-policy', path: '/policies/default', shows: 'Valid: default.', colorScheme: 'light' },
] as const;

const browser = await chromium.launch({ executablePath: await ensureChromium(), args: ['--no-sandbox'] });
for (const { name, path, shows, colorScheme } of SHOTS) {
  const page = await browser.newPage({
    viewport: { width: 1100, height: 900 },
    colorScheme,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
  });
  await page.goto(`${url}${path}`);
  await page.getByText(shows).first().waitFor();
  await page.evaluate('document.fonts.ready');
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
  await page.close();
}
await browser.close();
