import { describe, expect, test } from 'vitest';
import type { SubscriptionState } from '../../../packages/log/port.ts';
import { LOG_STILL_AFTER_MS, StandingLog } from '../../../services/notices/silence.ts';
import { AT_MS } from './support/notice-of.ts';

const DAY_MS = 86_400_000;
const WELL: SubscriptionState = {
  joined: true,
  problem: null,
  assigned: ['gc.node.disk-stats/0'],
  lag: new Map(),
};
const LATE_MS = AT_MS + LOG_STILL_AFTER_MS;

/** What the log says, of which the newest came at `newestMs`. */
const logUntil = (newestMs: number) => async (sinceMs: number) => newestMs >= sinceMs;

test('a log without news is told once, and so is that it moves again', async () => {
  const log = new StandingLog();
  log.heard(AT_MS);
  const still = logUntil(AT_MS - 1);
  expect(await log.look(WELL, LATE_MS - 1, still)).toEqual([]);
  const [told] = await log.look(WELL, LATE_MS, still);
  expect(told).toMatchObject({ kind: 'log-silent', cluster: null, node: null });
  expect(told?.text).toContain('since 2026-01-01T00:00:00Z');
  expect(await log.look(WELL, LATE_MS + DAY_MS, still)).toEqual([]);
  log.heard(LATE_MS + DAY_MS);
  expect(await log.look(WELL, LATE_MS + DAY_MS, still)).toMatchObject([{ kind: 'log-heard-again' }]);
});

test('a log that cannot be read is told with the reason, by whoever cannot', async () => {
  const log = new StandingLog();
  const away = { ...WELL, assigned: [], problem: 'no broker answers' };
  expect(await log.look(away, AT_MS, logUntil(AT_MS))).toEqual([]);
  const [told] = await log.look(away, LATE_MS, logUntil(AT_MS));
  expect(told?.text).toContain('no broker answers');
  log.heard(LATE_MS);
  expect(await log.look(WELL, LATE_MS, logUntil(LATE_MS))).toMatchObject([{ kind: 'log-heard-again' }]);
});

describe('nobody is told', () => {
  test('where others have news in their partitions', async () => {
    expect(await new StandingLog().look(WELL, LATE_MS, logUntil(LATE_MS))).toEqual([]);
  });

  test('where the log does not tell, neither that it stands still nor that it moves again', async () => {
    const log = new StandingLog();
    log.heard(AT_MS);
    const away = async () => null;
    expect(await log.look(WELL, LATE_MS, away)).toEqual([]);
    expect(await log.look(WELL, LATE_MS, logUntil(AT_MS - 1))).toMatchObject([{ kind: 'log-silent' }]);
    expect(await log.look(WELL, LATE_MS + 1, away)).toEqual([]);
    expect(await log.look(WELL, LATE_MS + 2, logUntil(AT_MS - 1))).toEqual([]);
  });

  test('where another replica has the first partition', async () => {
    expect(await new StandingLog().look({ ...WELL, assigned: [] }, LATE_MS, logUntil(AT_MS - 1))).toEqual([]);
  });

  test('of a log on which no node was heard for a day', async () => {
    expect(await new StandingLog().look(WELL, LATE_MS + 2 * DAY_MS, logUntil(AT_MS))).toEqual([]);
  });
});
