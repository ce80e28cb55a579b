import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connectReader } from '../../../../packages/cri/client.ts';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import { EventLogOptions, openEventLog } from '../../../../packages/log/open.ts';
import type { EventLog, Headers } from '../../../../packages/log/port.ts';
import { linuxClock } from '../../../../packages/machine/clock.ts';
import { openStateDirectory } from '../../../../packages/machine/state-directory.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import { createMetrics } from '../../../../packages/process/metrics.ts';
import { systemSources } from '../../../../packages/process/system-sources.ts';
import { NO_MARKS } from '../../../../packages/records/dead-letters/crash-marks.ts';
import { createDeadLetters } from '../../../../packages/records/dead-letters/dead-letters.ts';
import { parseRecord } from '../../../../packages/records/parse/parse-record.ts';
import { createPublisher, nodeSource } from '../../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../../packages/records/trust/signer.ts';
import { TRUST_OFF } from '../../../../packages/records/trust/trust.ts';
import { nodeKey } from '../../../../schemas/events/identity.ts';
import type { Inventory } from '../../../../schemas/events/inventory.ts';
import { type EventOf, TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';
import { byTheClock, runNodeAgent } from '../../../../services/node/agent/agent.ts';
import { NO_CONTENTS } from '../../../../services/node/agent/contents.ts';
import { podLogReader } from '../../../../services/node/agent/pod-logs.ts';
import { observe } from '../../../fixtures/observe.ts';
import { policySet } from '../../../fixtures/policy.ts';
import { reclaim, WHOLE_DISK } from '../../../fixtures/reclaim.ts';
import { logLines } from '../../../support/log-lines.ts';
import { TRACEPARENT } from '../../../support/logs/log-record.ts';
import { simulatedNode } from '../../../support/simulated-node.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { waitUntil } from '../../../support/wait-until.ts';

interface Published<Event> {
  readonly event: Event;
  readonly headers: Headers;
}

/** Everything on a topic, parsed as every consumer parses it. */
async function readAll<Id extends TopicId>(log: EventLog, topic: Id): Promise<Published<EventOf<Id>>[]> {
  const found: Published<EventOf<Id>>[] = [];
  for await (const item of log.read({ topic: TOPICS[topic].name, from: 'earliest', to: 'end' })) {
    if (item.kind !== 'record') continue;
    const parsed = parseRecord(topic, item.record);
    if (!parsed.ok) throw new Error(parsed.rejection.message);
    found.push({ event: parsed.event, headers: item.record.headers });
  }
  return found;
}

async function startAgent() {
  const { now, monotonicNow, traceIds: ids, wait, random } = systemSources;
  const clock = linuxClock();
  const node = await simulatedNode({ clock });
  await node.kubelet.startPod({ name: 'web', namespace: 'default', containers: { app: 'nginx:1' } });
  const state = openStateDirectory(temporaryDirectory(), 'machine');
  const identity = { cluster: 'prod', node: 'web-1', nodeInstance: state.nodeInstance };
  const logger = createLogger({ service: 'node-agent', level: 'info' }, logLines());
  const metrics = createMetrics();
  const options = EventLogOptions.parse({ kind: 'embedded', path: join(temporaryDirectory(), 'log.db') });
  const log = await openEventLog(options, { logger, ...systemSources });
  await log.createTopics();
  const publisher = createPublisher({ signer: UNSIGNED, log, source: nodeSource(identity), now, ids });
  const deadLetters = createDeadLetters({ publisher, group: 'agent', metrics, logger, now: monotonicNow });
  const runtime = connectReader(node.endpoint);
  const stop = new AbortController();
  const agent = {
    identity,
    nodeLabels: {},
    policies: () => policySet({ imageGCHighThresholdPercent: 0, imageGCLowThresholdPercent: 0 }),
    runtime,
    contents: async () => NO_CONTENTS,
    filesystems: node.filesystems,
    podLogs: podLogReader(node),
    pods: node.kubelet,
    podSources: ['api' as const],
    state,
    publisher,
    clock,
    sleep: wait,
    schedule: byTheClock(wait),
    random,
    logger,
    metrics,
  };
  const consuming = { log, trust: TRUST_OFF, publisher, deadLetters, marks: NO_MARKS, now, monotonicNow };
  const running = runNodeAgent({ agent, consuming }, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running.finished;
    runtime[Symbol.dispose]();
    await log[Symbol.asyncDispose]();
  });
  return { log, clock, identity, running, publisher };
}

test('over the log: facts go out, an order comes in and is answered in its trace', async () => {
  const { log, clock, identity, running, publisher } = await startAgent();
  const inventories = (): Promise<Published<Inventory>[]> => readAll(log, 'inventory');
  await waitUntil('the agent to be ready', 10_000, () => running.problem() === null);
  await waitUntil('an inventory at start', 10_000, async () => (await inventories()).length === 1);

  const order = observe({
    ...identity,
    takenAt: clock.now(),
    reclaim: reclaim({ ...WHOLE_DISK, step: 'containers' }),
  });
  await publisher.publish([nodeOutput('observe', order)], { traceparent: TRACEPARENT });
  const answer = await waitUntil('the answer', 10_000, async () => (await inventories())[1] ?? null);

  expect(answer.event).toMatchObject({ status: 'complete', trigger: 'order', reclaim: order.reclaim });
  expect(answer.headers.ce_source).toBe('/fleetgc/prod/web-1');
  expect(answer.headers.traceparent?.split('-')[1]).toBe(TRACEPARENT.split('-')[1]);
  const [stats] = await readAll(log, 'diskStats');
  expect(stats?.event).toMatchObject({ ...identity, nodeLabels: {} });
  expect(nodeKey(answer.event)).toBe('prod/web-1');
});
