import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { nodeOutput, type Output } from '../../../packages/decision/handler.ts';
import { openEmbeddedLog } from '../../../packages/log/embedded.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import type { Consumer } from '../../../packages/records/consume.ts';
import { UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import type { DecisionServiceDeps } from '../../../packages/service/decision-service.ts';
import type { DeciderName } from '../../../schemas/events/object-kinds.ts';
import { type EventOf, TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import { startDecider } from '../../../services/deciders/run.ts';
import { policySet } from '../../fixtures/policy.ts';
import { logLines } from '../log-lines.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { waitUntil } from '../wait-until.ts';
import { countedIds, outgoing } from './log-record.ts';

const BOUND_MS = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** An embedded log of this test's own, and what a decision service needs beside it. */
export async function decisionLog(policies: () => PolicySet = policySet) {
  const logger = createLogger({ service: 'test', level: 'info' }, logLines());
  const context = { logger, now: Date.now, random: Math.random, newId: randomUUID };
  const log = await openEmbeddedLog(
    { path: join(temporaryDirectory(), 'log.db'), maxBytes: MAX_BYTES },
    context,
  );
  onTestFinished(() => log[Symbol.asyncDispose]());
  await log.createTopics();
  const metrics = createMetrics();
  const monotonicNow = () => performance.now();
  const deps: DecisionServiceDeps<'node'> = {
    log,
    policies,
    trust: TRUST_OFF,
    signer: UNSIGNED,
    heads: null,
    logger,
    metrics,
    ids: countedIds(),
    now: Date.now,
    monotonicNow,
  };

  const read = async (topic: TopicId): Promise<LogRecord[]> => {
    const records: LogRecord[] = [];
    for await (const event of log.read({ topic: TOPICS[topic].name, from: 'earliest', to: 'end' }))
      if (event.kind === 'record') records.push(event.record);
    return records;
  };
  return {
    deps,
    publish: (...outputs: readonly Output[]) => log.publish(outputs.map(outgoing)),
    /** Starts a replica that ends with the test. */
    start: async (name: DeciderName): Promise<Consumer> => {
      const consumer = await startDecider(name, deps);
      onTestFinished(() => consumer.stop());
      return consumer;
    },
    /** Waits until a topic holds so many records. */
    records: (topic: TopicId, count: number): Promise<LogRecord[]> =>
      waitUntil(`${count} records on ${TOPICS[topic].name}`, BOUND_MS, async () => {
        const found = await read(topic);
        return found.length >= count && found;
      }),
  };
}

export const fact = <Id extends 'diskStats' | 'inventory'>(topic: Id, event: EventOf<Id>): Output =>
  nodeOutput(topic, event);

/** What a record carries, as JSON. */
export const bodyOf = (record: LogRecord | undefined): unknown => JSON.parse(String(record?.value));
