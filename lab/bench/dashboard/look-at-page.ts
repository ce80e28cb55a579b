import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { openEmbeddedLog } from '../../../packages/log/embedded.ts';
import { startDashboard } from '../../../test/services/dashboard/support/dashboard.ts';
import { ensureChromium } from '../../../test/support/toolchain/chromium.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { logContext } from '../context.ts';
import { LOG_MAX_BYTES } from '../month/write-month.ts';

export interface Looking {
  readonly log: string;
  readonly endMs: number;
  readonly pageDirectory: string;
  readonly directory: string;
  readonly rounds: number;
  readonly nodes: number;
}

/** What was measured in each round. */
export interface LookedAt {
  readonly firstPaintMs: readonly number[];
  readonly shownMs: readonly number[];
  readonly interactionMs: readonly number[];
  readonly slowestMs: readonly number[];
  readonly answerMs: readonly number[];
}

/** Opens the page of a log as if its end were now, again and again, and uses it. */
export async function lookAtPage({
  log: path,
  endMs,
  pageDirectory,
  directory,
  rounds,
  nodes,
}: Looking): Promise<LookedAt> {
  await using log = await openEmbeddedLog(
    { path, maxBytes: LOG_MAX_BYTES, leavesRetention: true },
    logContext,
  );
  const startedMs = performance.now();
  const now = (): number => endMs + Math.floor(performance.now() - startedMs);
  const dashboard = await startDashboard(log, {
    path: join(directory, `page-${nodes}.db`),
    pageDirectory,
    now,
  });
  await using browser = await chromium.launch({
    executablePath: await ensureChromium(),
    args: ['--no-sandbox'],
  });
  const measured: Round[] = [];
  try {
    await waitUntil('the newest to be read', 60_000, async () =>
      (await (await dashboard.get('/api/progress')).text()).includes('"isCaughtUp":true'),
    );
    for (let round = 0; round < rounds; round += 1) {
      await using context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
      const page = await context.newPage();
      measured.push({
        ...(await openedPage(page, `${dashboard.url}/fleet`, nodes)),
        ...(await usedPage(page)),
      });
    }
  } finally {
    await dashboard.stop();
  }
  return {
    firstPaintMs: measured.map(({ firstPaintMs }) => firstPaintMs),
    shownMs: measured.map(({ shownMs }) => shownMs),
    interactionMs: measured.flatMap(({ interactionMs }) => interactionMs),
    slowestMs: measured.map(({ interactionMs }) => Math.max(...interactionMs)),
    answerMs: measured.map(({ answerMs }) => answerMs),
  };
}

interface Opened {
  readonly firstPaintMs: number;
  readonly shownMs: number;
  readonly answerMs: number;
}

interface Round extends Opened {
  readonly interactionMs: readonly number[];
}

const FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime";
const ANSWER =
  "performance.getEntriesByType('resource').find(({ name }) => name.includes('/api/fleet')).duration";

async function openedPage(page: Page, url: string, nodes: number): Promise<Opened> {
  await page.goto(url, { waitUntil: 'commit' });
  await page.getByRole('img', { name: `Disk use of ${nodes.toLocaleString('en')} nodes` }).waitFor();
  await page.locator('tbody tr').first().waitFor();
  const shownMs = await numberOf(page, 'performance.now()');
  return { firstPaintMs: await numberOf(page, FIRST_PAINT), answerMs: await numberOf(page, ANSWER), shownMs };
}

/** From an event of the page until the frame after it is there. */
const timed = (act: string): string =>
  `new Promise((resolve) => {
    const startedMs = performance.now();
    ${act};
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => resolve(performance.now() - startedMs);
      channel.port2.postMessage(null);
    });
  })`;

const input = (selector: string, value: string, event: string): string =>
  timed(`const field = document.querySelector('${selector}');
    field.value = '${value}';
    field.dispatchEvent(new Event('${event}', { bubbles: true }))`);

const SEARCH = 'section input[type=search]';
const ORDER = 'section select';
const INTERACTIONS = [
  input(SEARCH, '9', 'input'),
  input(SEARCH, '99', 'input'),
  input(SEARCH, '', 'input'),
  input(ORDER, 'name', 'change'),
  input(ORDER, 'state', 'change'),
  timed(
    "[...document.querySelectorAll('section button')].find(({ textContent }) => textContent === 'Next').click()",
  ),
  input('.controls select', 'pool', 'change'),
];

async function usedPage(page: Page): Promise<{ readonly interactionMs: readonly number[] }> {
  const interactionMs: number[] = [];
  for (const interaction of INTERACTIONS) interactionMs.push(await numberOf(page, interaction));
  return { interactionMs };
}

async function numberOf(page: Page, expression: string): Promise<number> {
  return Number(await page.evaluate(expression));
}
