import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { openEmbeddedLog } from '../../../packages/log/embedded.ts';
import { pause } from '../../../packages/process/backoff.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import { NoticeEvent } from '../../../schemas/notices/notice.ts';
import { Lane } from '../../../services/notices/lane.ts';
import { listen } from '../../../services/notices/listen.ts';
import { laneMetrics } from '../../../services/notices/metrics.ts';
import type { Notice } from '../../../services/notices/notices.ts';
import { rulesTo } from '../../../services/notices/notices.ts';
import { rulesIn } from '../../../services/notices/rules-file.ts';
import { webhookReceiver } from '../../../services/notices/webhook.ts';
import { census as censusOf } from '../../fixtures/census.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { SILENT } from '../../support/silent.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { httpReceiver } from './support/http-receiver.ts';

const BOUND_MS = 20_000;
const MINUTE_MS = 60_000;
const RUNNING = new AbortController().signal;

/** An embedded log of the test's own, whose clock is ahead of that of the machine as the test says. */
async function logWithClock(aheadMs: number) {
  const clock = { aheadMs };
  const now = (): number => Date.now() + clock.aheadMs;
  const log = await openEmbeddedLog(
    { path: join(temporaryDirectory(), 'log.db'), maxBytes: 64 * 1024 * 1024 },
    { logger: SILENT, now, random: Math.random, newId: randomUUID },
  );
  onTestFinished(() => log[Symbol.asyncDispose]());
  await log.createTopics();
  const heard = (id: string) => log.publish([outgoing(nodeOutput('diskStats', diskStats({}, { id })))]);
  return { log, clock, now, heard };
}

test('who fell silent before the process began is told, and so is that they are back', async () => {
  const { log, clock, now, heard } = await logWithClock(-6 * MINUTE_MS);
  await heard('a');
  clock.aheadMs = 0;
  const offered: Notice[] = [];
  const sources = { now, monotonicNow: () => performance.now(), wait: pause };
  const listener = await listen(
    { log, trust: TRUST_OFF, policies: null, metrics: createMetrics(), logger: SILENT, sources },
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

test('a webhook is told of a cluster and a log that fell silent, and that they are back', async () => {
  const { log, clock, now, heard } = await logWithClock(-22 * MINUTE_MS);
  const receiver = await httpReceiver();
  const census = (id: string) =>
    log.publish([
      outgoing({ topic: 'clusterCensus', key: 'c1', event: { ...censusOf(), id, cluster: 'c1' } }),
    ]);
  await heard('a');
  await census('a');
  clock.aheadMs = 0;
  const metrics = createMetrics();
  const sources = {
    now,
    monotonicNow: () => performance.now(),
    random: Math.random,
    wait: (ms: number, signal?: AbortSignal) => pause(Math.min(ms, 50), signal ?? RUNNING),
  };
  const { rules } = requireRulesText(receiver.url);
  const matching = rulesTo({ receivers: [], rules }, 'pager');
  const lane = new Lane({
    name: 'pager',
    receiver: webhookReceiver(
      { name: 'pager', type: 'webhook', url: receiver.url, maxAge: 3_600_000 },
      { logger: SILENT, sources },
    ),
    rules: matching,
    maxAgeMs: 3_600_000,
    metrics: laneMetrics(metrics, 'pager'),
    logger: SILENT,
    sources,
  });
  const kinds = matching.flatMap((rule) => rule.kinds);
  const listening = { log, trust: TRUST_OFF, policies: null, metrics, logger: SILENT, sources };
  const listener = await listen(listening, { receiver: 'pager', kinds, lane });
  const stop = new AbortController();
  await waitUntil('the group to be joined', BOUND_MS, () => listener.state().joined);
  const running = [listener.watchSilence(stop.signal), lane.run(stop.signal)];
  const told = (): readonly string[] =>
    receiver.received.flatMap(({ body }) =>
      NoticeEvent.parse(JSON.parse(body)).data.notices.map(({ kind }) => kind),
    );
  const toldOf = (what: string) => waitUntil(`${what} to be told`, BOUND_MS, () => told().includes(what));
  await toldOf('cluster-silent');
  await toldOf('log-silent');
  await heard('b');
  await toldOf('log-heard-again');
  await census('b');
  await toldOf('cluster-heard-again');
  stop.abort();
  await Promise.all(running);
  await listener.stop();
});

/** As notices.md shows it: a rule for what fell silent. */
function requireRulesText(url: string) {
  const read = rulesIn(`
receivers: [{ name: pager, type: webhook, url: '${url}' }]
rules:
  - name: silence
    kinds: [cluster-silent, cluster-heard-again, undecided, decided-again, log-silent, log-heard-again]
    to: [pager]
`);
  if (!read.ok) throw new Error(read.problems.join());
  return read.rules;
}
