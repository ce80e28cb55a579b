import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Handler, nodeOutput } from '../../../packages/decision/handler.ts';
import { openEventLog } from '../../../packages/log/open.ts';
import type { EventLog, LogRecord } from '../../../packages/log/port.ts';
import { startPolicySource } from '../../../packages/policy/policies.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';
import { type Consumer, startConsumer } from '../../../packages/records/consume.ts';
import { NO_MARKS } from '../../../packages/records/dead-letters/crash-marks.ts';
import { createDeadLetters } from '../../../packages/records/dead-letters/dead-letters.ts';
import { createPublisher } from '../../../packages/records/publisher.ts';
import { SeenGenerations } from '../../../packages/records/trust/seen-generations.ts';
import { UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import { pauseKey } from '../../../schemas/policy/policy.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { deletionOutput, pauseRecord } from '../../fixtures/policy.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { PATIENT } from '../../support/patience.ts';
import { pauseFor } from '../../support/pause-for.ts';
import { decide } from './consumer-under-test.ts';

const logger = pino({ level: 'silent' });

async function embeddedLog() {
  const directory = await mkdtemp(join(tmpdir(), 'fleetgc-consume-'));
  const open = () =>
    openEventLog(
      { kind: 'embedded', path: join(directory, 'log.db'), maxBytes: 2 ** 26 },
      { logger, ...systemSources },
    );
  const log = await open();
  onTestFinished(async () => {
    await log[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });
  await log.createTopics();
  return log;
}

function consume(log: EventLog, handle: Handler<DiskStats>): Promise<Consumer> {
  const { now, monotonicNow, traceIds } = systemSources;
  const metrics = createMetrics();
  const publisher = createPublisher({ signer: UNSIGNED, log, source: '/fleetgc/test', now, ids: traceIds });
  return startConsumer({
    trust: TRUST_OFF,
    name: 'test',
    log,
    group: 'test',
    start: 'earliest',
    assignment: { kind: 'shared' },
    handlers: { diskStats: handle },
    publisher,
    deadLetters: createDeadLetters({ publisher, group: 'test', metrics, logger, now: monotonicNow }),
    logger,
    marks: NO_MARKS,
    metrics,
    now,
    monotonicNow,
  });
}

async function recordsOf(log: EventLog, topic: TopicId): Promise<readonly LogRecord[]> {
  const records: LogRecord[] = [];
  for await (const event of log.read({ topic: TOPICS[topic].name, from: 'earliest', to: 'end' })) {
    if (event.kind === 'record') records.push(event.record);
  }
  return records;
}

const idsOf = async (log: EventLog, topic: TopicId) =>
  (await recordsOf(log, topic)).map(({ headers }) => headers.ce_id);

const reaches = (log: EventLog, topic: TopicId, ids: readonly string[]) =>
  vi.waitFor(async () => expect(await idsOf(log, topic)).toEqual(ids), PATIENT);

const message = (id: string) => outgoing(nodeOutput('diskStats', diskStats({}, { id })));

test('messages become decisions and orders, garbage a dead letter, each once over a restart', async () => {
  const log = await embeddedLog();
  const garbage = { ...message('bad'), value: Buffer.from('garbage') };
  await log.publish([message('a'), garbage, message('b')]);
  const first = await consume(log, decide);
  await reaches(log, 'observe', ['observe-of-a', 'observe-of-b']);
  await vi.waitFor(
    () => expect([...first.state().lag.values()].every((lag) => lag === 0)).toBe(true),
    PATIENT,
  );
  await first.stop();

  await log.publish([message('c')]);
  await using _ = await consume(log, decide);
  await reaches(log, 'observe', ['observe-of-a', 'observe-of-b', 'observe-of-c']);
  expect(await idsOf(log, 'decisions')).toEqual(['decision-of-a', 'decision-of-b', 'decision-of-c']);
  expect(await recordsOf(log, 'deadLetters')).toHaveLength(1);
});

test('no message is lost while what the handler needs is away', async () => {
  const log = await embeddedLog();
  let away = true;
  await log.publish([message('a'), message('b')]);
  await using consumer = await consume(log, (input) => {
    if (away) throw new FleetGcError('POLICIES_UNREADABLE', 'the policies are not read yet');
    return decide(input);
  });
  await vi.waitFor(() => expect(consumer.problem()).toMatch(/the policies are not read yet/), PATIENT);
  expect(await idsOf(log, 'decisions')).toEqual([]);
  away = false;
  await reaches(log, 'observe', ['observe-of-a', 'observe-of-b']);
  expect(await recordsOf(log, 'deadLetters')).toEqual([]);
});

test('what failed between decision and order comes again with the same ids', async () => {
  const log = await embeddedLog();
  let failures = 1;
  const failing: EventLog = {
    ...log,
    publish: async (records) => {
      if (records.some(({ topic }) => topic === 'gc.node.observe') && failures-- > 0) {
        throw new FleetGcError('LOG_UNREACHABLE', 'no broker answers');
      }
      return await log.publish(records);
    },
  };
  await log.publish([message('a')]);
  await using _ = await consume(failing, decide);
  await reaches(log, 'observe', ['observe-of-a']);
  expect(await idsOf(log, 'decisions')).toEqual(['decision-of-a', 'decision-of-a']);
});

test('policies and pauses are followed as they are applied and deleted', async () => {
  const log = await embeddedLog();
  const { monotonicNow: now, random, wait } = systemSources;
  const metrics = createMetrics();
  const settings = {
    seen: new SeenGenerations(),
    log,
    trust: TRUST_OFF,
    logger,
    metrics,
    recheckMs: 200,
    sources: { now, random, wait },
  };
  await using policies = startPolicySource(settings);
  await policies.caughtUp;
  expect(policies.current.node().policies).toEqual([]);

  const record = appliedPolicy({ name: 'a' });
  const pause = pauseRecord();
  const everywhere = { cluster: 'prod', node: 'web-1', nodeLabels: {} };
  await log.publish([
    outgoing({ topic: 'policies', key: 'a', event: record }),
    outgoing({ topic: 'policies', key: pauseKey(pause.selector), event: pause }),
  ]);
  await vi.waitFor(() => expect(pauseFor(policies, everywhere)).toEqual(pause), PATIENT);
  expect(policies.current.node().policies).toEqual([record]);

  await log.publish([outgoing(deletionOutput(pauseKey(pause.selector)))]);
  await vi.waitFor(() => expect(pauseFor(policies, everywhere)).toBeNull(), PATIENT);
  await log.publish([{ topic: 'gc.policies', key: 'b', value: Buffer.from('garbage'), headers: {} }]);
  await vi.waitFor(() => expect(policies.problem()).toMatch(/key "b"/), PATIENT);
  await log.publish([outgoing(deletionOutput('b'))]);
  await vi.waitFor(() => expect(policies.problem()).toBeNull(), PATIENT);
  expect(policies.current.node().policies).toEqual([record]);
});
