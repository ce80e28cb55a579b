import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, onTestFinished } from 'vitest';
import { buildPage } from '../../../../bin/build-page.ts';
import { patiently } from '../../../support/patience.ts';
import { ensureChromium } from '../../../support/toolchain/chromium.ts';

/** A directory for all tests of a file. */
export function suiteDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-test-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Makes the page of the sources as they are. */
export async function builtPage(above: string): Promise<string> {
  const directory = join(above, 'page');
  mkdirSync(directory);
  await buildPage(directory);
  return directory;
}

/** The page that the program serves, which is the one that was built last, is that of the sources as they are. */
export const buildServedPage = (): Promise<void> =>
  buildPage(join(import.meta.dirname, '../../../../dist/page'));

export async function openBrowser(): Promise<Browser> {
  // As root in a container there is no sandbox to be had; the page is our own.
  return await chromium.launch({ executablePath: await ensureChromium(), args: ['--no-sandbox'] });
}

export interface Looked {
  readonly page: Page;
  /** What the page complained of, and what it asked of other hosts. */
  readonly complaints: readonly string[];
}

/** A page that notes all that should not be. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Looked> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    timezoneId: 'Europe/Berlin',
    locale: 'en-GB',
    ...options,
  });
  onTestFinished(() => context.close());
  context.setDefaultTimeout(patiently(30_000));
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => complaints.push(`a dialog: ${dialog.message()}`));
  page.on('request', (request) => {
    if (new URL(request.url()).hostname !== '127.0.0.1') complaints.push(`asked ${request.url()}`);
  });
  return { page, complaints };
}

/** What axe finds wrong, by rule and place. */
export async function violations(page: Page): Promise<readonly string[]> {
  const found = await new AxeBuilder({ page }).analyze();
  return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}
