/**
 * The Kafka side of so many nodes, and nothing else of them: "fleetgc" as `fleetgc node` has it (orders, policies,
 * producer), "kafkajs" as a plain client would (a group for each node, and a producer). Says every second what it has done.
 */

import { createRequire } from 'node:module';
import { Kafka, logLevel } from 'kafkajs';
import { registerCodecs, repairRequestQueue } from '../../../packages/log/kafka/client/kafkajs-repairs.ts';
import { KafkaOptions } from '../../../packages/log/kafka/client/options.ts';
import { openKafkaLog } from '../../../packages/log/kafka.ts';
import { startPolicySource } from '../../../packages/policy/policies.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';
import { SeenGenerations } from '../../../packages/records/trust/seen-generations.ts';
import { TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { nodeSubscription } from '../../../services/node/executor/run.ts';
import { logContext } from '../context.ts';
import { benchNode } from '../nodes.ts';
import type { ScriptArguments } from './arguments.ts';

const [, , argument = ''] = process.argv;
const { brokers, first, count, kind }: ScriptArguments['many-nodes'] = JSON.parse(argument);
const AT_ONCE = 10;
const REPORT_MS = 1000;

const said = { open: 0, records: 0, requests: {} as Record<string, number> };

/** Requests by name, of every connection that kafkajs makes here. */
function countRequests(): void {
  const load = createRequire(import.meta.url);
  const connection: { prototype: { send(request: { request: { apiName: string } }): unknown } } = load(
    'kafkajs/src/network/connection',
  );
  const { send } = connection.prototype;
  connection.prototype.send = function (sent) {
    const { apiName } = sent.request;
    said.requests[apiName] = (said.requests[apiName] ?? 0) + 1;
    return send.call(this, sent);
  };
}

const handle = async (records: readonly unknown[]): Promise<void> => {
  said.records += records.length;
};

async function openFleetGc(number: number): Promise<void> {
  const identity = benchNode(number);
  const options = KafkaOptions.parse({ kind: 'kafka', brokers, clientId: 'fleetgc-node' });
  const log = await openKafkaLog(options, logContext);
  const { monotonicNow: now, random, wait } = systemSources;
  const { logger } = logContext;
  const sources = { now, random, wait };
  const policies = startPolicySource({
    seen: new SeenGenerations(),
    trust: TRUST_OFF,
    log,
    logger,
    metrics: createMetrics(),
    recheckMs: null,
    sources,
  });
  const topics = [TOPICS.observe.name, TOPICS.commands.name];
  const member = await log.subscribe({ ...nodeSubscription(identity), topics }, handle);
  await policies.caughtUp;
  while (member.state().assigned.length === 0 || !log.health().connected)
    await wait(50, AbortSignal.timeout(60_000));
}

async function openPlain(number: number): Promise<void> {
  const kafka = new Kafka({
    brokers: [...brokers],
    clientId: 'plain',
    logLevel: logLevel.NOTHING,
    connectionTimeout: 5000,
  });
  const producer = kafka.producer();
  const consumer = kafka.consumer({ groupId: `plain-${nodeKey(benchNode(number))}` });
  await Promise.all([producer.connect(), consumer.connect()]);
  await consumer.subscribe({ topics: [TOPICS.observe.name, TOPICS.commands.name], fromBeginning: false });
  const joined = new Promise((resolve) => consumer.on(consumer.events.FETCH_START, resolve));
  await consumer.run({ eachBatch: async ({ batch }) => handle(batch.messages) });
  await joined;
}

repairRequestQueue();
registerCodecs();
countRequests();
const open = { fleetgc: openFleetGc, kafkajs: openPlain }[kind];
process.stdout.write('ready\n');
setInterval(() => {
  const sockets = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  process.stdout.write(`${JSON.stringify({ ...said, sockets })}\n`);
}, REPORT_MS);
const numbers = Array.from({ length: count }, (_, index) => first + index).values();
const one = async (): Promise<void> => {
  for (const number of numbers) {
    await open(number);
    said.open += 1;
  }
};
await Promise.all(Array.from({ length: AT_ONCE }, one));
// Nothing of it is to be taken down in order: that is another load.
process.once('SIGTERM', () => process.exit());
