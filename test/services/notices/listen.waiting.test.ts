import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { openEmbeddedLog } from '../../../packages/event-log/embedded.ts';
import { pause } from '../../../packages/process/backoff.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { TRUST_OFF } from '../../../packages/trust/trust.ts';
import { listen } from '../../../services/notices/listen.ts';
import type { Notice } from '../../../services/notices/notice.ts';
import { SILENT } from '../../exhaustive/silent.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';

const BOUND_MS = 20_000;
const MINUTE_MS = 60_000;

test('who fell silent before the process began is told, and so is that they are back', async () => {
  let aheadMs = -6 * MINUTE_MS;
  const now = (): number => Date.now() + aheadMs;
  const log = await openEmbeddedLog(
    { path: join(temporaryDirectory(), 'log.db'), maxBytes: 64 * 1024 * 1024 },
    { logger: SILENT, now, random: Math.random, newId: randomUUID },
  );
  onTestFinished(() => log[Symbol.asyncDispose]());
  await log.createTopics();
  const heard = (id: string) => log.publish([outgoing(nodeOutput('diskStats', diskStats({}, { id })))]);
  await heard('a');
  aheadMs = 0;
  const offered: Notice[] = [];
  const sources = { now, monotonicNow: () => performance.now(), wait: pause };
  const listener = await listen(
    { log, trust: TRUST_OFF, metrics: createMetrics(), logger: SILENT, sources },
    {
      receiver: 'pager',
      kinds: ['silent', 'heard-again'],
      lane: { offer: async (notices) => void offered.push(...notices) },
    },
  );
  const stop = new AbortController();
  await waitUntil('the group to be joined', BOUND_MS, () => listener.state().assigned.length === 32);
  const watching = listener.watchSilence(stop.signal);
  const kinds = (): string => offered.map(({ kind }) => kind).join();
  await waitUntil('the silence to be told', BOUND_MS, () => kinds() === 'silent');
  await heard('b');
  await waitUntil('the node to be heard again', BOUND_MS, () => kinds() === 'silent,heard-again');
  expect(listener.problem()).toBeNull();
  stop.abort();
  await watching;
  await listener.stop();
});
