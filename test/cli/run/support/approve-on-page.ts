import { expect } from 'vitest';
import { readTokens } from '../../../../services/dashboard/access/sessions.ts';
import { actingOn } from '../../../services/dashboard/support/acting.ts';
import { builtPage, openBrowser, openPage, violations } from '../../../services/dashboard/support/browser.ts';
import { dashboardOf } from '../../../services/dashboard/support/dashboard.ts';
import { openLog } from '../../../services/dashboard/support/played-cluster.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import type { Owner } from './fault-suite.ts';

/** An operator finds the cluster among all, and lets go what is held of this owner, in Chromium. */
export async function approveOnPage(logPath: string, cluster: string, { name, uid }: Owner): Promise<void> {
  await using log = await openLog(logPath);
  const token = 't'.repeat(40);
  const access = { tokens: readTokens('tokens', `operator ann ${token}`) };
  const pageDirectory = await builtPage(temporaryDirectory());
  const dashboard = await dashboardOf(log, { pageDirectory, access, acting: actingOn(log) });
  const browser = await openBrowser();
  try {
    const extraHTTPHeaders = { authorization: `Bearer ${token}` };
    const { page, complaints } = await openPage(browser, { extraHTTPHeaders });
    await page.goto(`${dashboard.url}/clusters`);
    await page.locator('main').getByRole('link', { name: cluster, exact: true }).first().click();
    const row = page.getByRole('row').filter({ has: page.locator(`a[href*="${uid}"]`) });
    await row.getByRole('button', { name: /^Approve/ }).click();
    expect(await violations(page)).toEqual([]);
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason, for the audit trail').fill(`${name} is not needed`);
    await dialog.getByRole('button', { name: 'Approve' }).click();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: /^Withdraw/ }).waitFor();
    expect(complaints).toEqual([]);
  } finally {
    await browser.close();
    await dashboard.stop();
  }
}
