import { expect, test } from 'vitest';
import type { LogRecord } from '../../packages/log/port.ts';
import { UNCOUNTED } from '../../packages/log/port.ts';
import { createMetrics } from '../../packages/process/metrics.ts';
import { PROJECTED_TOPICS } from '../../packages/read-model/project.ts';
import { consumerMetrics } from '../../packages/records/consumer-metrics.ts';
import { TRUST_OFF } from '../../packages/records/trust/trust.ts';
import { TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import { startDecider } from '../../services/deciders/run.ts';
import { noticesHandler, ToldOnce } from '../../services/notices/listen.ts';
import type { Notice } from '../../services/notices/notices.ts';
import { Watches } from '../../services/notices/silence.ts';
import { diskStats } from '../fixtures/disk-stats.ts';
import { inventory } from '../fixtures/inventory.ts';
import { pauseRecord } from '../fixtures/policy.ts';
import { openStore, projectorInto } from '../packages/read-model/support/test-store.ts';
import { decisionLog, fact } from '../support/logs/decision-log.ts';
import { NOW_MS, outgoing, recordOf } from '../support/logs/log-record.ts';
import { SILENT } from '../support/silent.ts';

const PAUSE = { topic: 'policies', key: '!pause', event: pauseRecord() } as const;
const TOPIC_IDS = Object.keys(TOPICS).filter((id): id is TopicId => Object.hasOwn(TOPICS, id));

const filled = (bytes: number, before: string, piece: string, after: string): string =>
  `${before}${piece.repeat(Math.max(0, Math.floor((bytes - before.length - after.length) / piece.length)))}${after}`;

/** As large as a topic takes at all: deep, wide, long, and none of it what it claims to be. */
const worstOf = (topic: TopicId): readonly string[] => {
  const { bytes } = TOPICS[topic].bounds;
  return [
    filled(bytes, '', '{"a":', ''),
    filled(bytes, '[0', ',0', ']'),
    filled(bytes, '{"a":0', ',"a":0', '}'),
    filled(bytes, '{"id":"', '\\u0000', '"}'),
    filled(bytes, '', '\u0000', ''),
  ];
};

const hostileRecords = (topic: TopicId): readonly LogRecord[] =>
  worstOf(topic).map((text) => recordOf(PAUSE, { topic: TOPICS[topic].name, value: Buffer.from(text) }));

test.each(TOPIC_IDS)(
  'the worst that %s takes tells nobody anything, and what comes behind it is told',
  async (topic) => {
    const offered: Notice[] = [];
    const handle = noticesHandler({
      policies: null,
      trust: TRUST_OFF,
      told: new ToldOnce(),
      watches: new Watches(),
      replays: { has: async () => false },
      counts: consumerMetrics(createMetrics(), 'notify-pager', [TOPICS[topic].name, TOPICS.policies.name]),
      logger: SILENT,
      sources: { now: () => NOW_MS, monotonicNow: () => 0 },
      offer: async (notices) => void offered.push(...notices),
    });
    await handle([...hostileRecords(topic), recordOf(PAUSE)], new AbortController().signal, UNCOUNTED);
    expect(offered.map(({ kind }) => kind)).toEqual(['paused']);
  },
);

test('a dashboard leaves out the worst that each topic takes, counts it, and shows what comes behind it', () => {
  using store = openStore();
  const projector = projectorInto(store);
  let hostile = 0;
  for (const topic of PROJECTED_TOPICS)
    for (const record of hostileRecords(topic)) {
      projector.take(topic, record, true);
      hostile += 1;
    }
  projector.take('inventory', recordOf(fact('inventory', inventory({ id: 'good' }))), true);
  projector.flush();
  expect(projector.unreadable).toBe(hostile);
});

test('a decision service decides what comes behind the worst that its topic takes', async () => {
  const { deps, publish, records } = await decisionLog();
  const good = fact('diskStats', diskStats({}, { id: 'good' }));
  await using _ = await startDecider('pressure', deps);
  const hostile = worstOf('diskStats').map((text) => ({ ...outgoing(good), value: Buffer.from(text) }));
  for (const record of hostile) await deps.log.publish([record]);
  await publish(good);
  expect(await records('decisions', 1)).toHaveLength(1);
  expect(await records('deadLetters', hostile.length)).toHaveLength(hostile.length);
});
