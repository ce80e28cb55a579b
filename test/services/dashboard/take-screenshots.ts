/**
 * `node test/services/dashboard/take-screenshots.ts FLEET DEMO`: the pictures of the documentation, of two dashboards that run. To have
 * what they show: FLEET is one of a simulated fleet of 80 nodes (docs/how-it-works/simulated-fleet.md), some minutes old at its
 * own pace, without faults (each of its options in percent is 0) and with a policy `default`. A machine that is too slow for it
 * makes clocks wrong: "fleetgc status" has to find no problem, since pictures show a fleet in good order. DEMO is the page of `fleetgc demo --for 10m`.
 */
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { ensureChromium } from '../../support/toolchain/chromium.ts';

const PICTURES = join(import.meta.dirname, '../../../docs/images');
const [fleet = 'http://127.0.0.1:9660', demo = 'http://127.0.0.1:9661'] = process.argv.slice(2);
const NODE = 'simulated/node-00041';
const CLUSTER = '/clusters/demo';

interface Shot {
  readonly name: string;
  readonly address: string;
  readonly shows: string;
  readonly colorScheme: 'light' | 'dark';
  /** What else has to be there, or done, before. */
  readonly before?: (page: Page) => Promise<unknown>;
}

const SHOTS: readonly Shot[] = [
  { name: 'dashboard-fleet', address: `${fleet}/fleet`, shows: ' objects', colorScheme: 'light' },
  {
    name: 'dashboard-images',
    address: `${fleet}/images?sort=unused`,
    shows: 'came back',
    colorScheme: 'light',
  },
  { name: 'dashboard-node', address: `${fleet}/node/${NODE}`, shows: 'Where from', colorScheme: 'dark' },
  {
    name: 'dashboard-policy',
    address: `${fleet}/policies/default`,
    shows: 'Valid: default.',
    colorScheme: 'light',
  },
  { name: 'dashboard-cluster', address: `${demo}${CLUSTER}`, shows: 'fleetgc approve', colorScheme: 'light' },
  {
    name: 'dashboard-owners',
    address: `${demo}${CLUSTER}`,
    shows: 'Last reported at',
    colorScheme: 'dark',
    before: async (page) => {
      await page.locator('th a[href*="/object?uid="]').first().click();
      await page.locator('svg a').first().waitFor();
    },
  },
];

async function take(browser: Browser, { name, address, shows, colorScheme, before }: Shot): Promise<void> {
  const page = await browser.newPage({
    viewport: { width: 1100, height: 900 },
    colorScheme,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
  });
  page.setDefaultTimeout(30_000);
  await page.goto(address);
  await page.getByText(shows).first().waitFor();
  await before?.(page);
  await page.evaluate('document.fonts.ready');
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
  await page.close();
}

const browser = await chromium.launch({ executablePath: await ensureChromium(), args: ['--no-sandbox'] });
for (const shot of SHOTS) await take(browser, shot);
await browser.close();
