import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { REPORT_FORMS } from '../../../packages/documents/report.ts';
import { DashboardReport } from '../../../schemas/reports/dashboard-report.ts';
import { ownLog } from '../../cli/fleetgc.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { dashboardOf } from './support/dashboard.ts';

const REPORT = 'x'.repeat(30 * 1024 * 1024);

/** The head of the answer; nothing of the rest is taken. */
async function untaken(url: string): Promise<IncomingMessage> {
  const asked = get(url, { agent: false });
  asked.on('error', () => undefined);
  const [answer]: IncomingMessage[] = await once(asked, 'response');
  if (answer === undefined) throw new Error('there is an answer');
  onTestFinished(() => void answer.destroy());
  return answer;
}

test('whoever does not take large answers gets no further ones, and is answered again once they are gone', async () => {
  const kept = vi.spyOn(REPORT_FORMS, 'json').mockReturnValue(REPORT);
  onTestFinished(() => kept.mockRestore());
  const { url, json } = await dashboardOf((await ownLog()).log);
  const report = `/api/report?from=${Date.now() - 1_000}&to=${Date.now()}`;
  await waitUntil(
    'the report',
    5_000,
    async () => DashboardReport.parse(await json(report)).state === 'read',
  );
  const file = `${url}${report.replace('report?', 'report/file?')}&form=json`;
  const answers = [await untaken(file), await untaken(file), await untaken(file)];
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 503]);
  for (const answer of answers) answer.destroy();
  await waitUntil('an answer', 5_000, async () => (await untaken(file)).statusCode === 200);
});
