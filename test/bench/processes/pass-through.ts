/**
 * The same consumer and producer as a decision service's, and the same bytes in and out, but nothing is parsed and
 * nothing decided: what it publishes was made before.
 */
import { readFileSync } from 'node:fs';
import { TOPICS, type TopicName } from '../../../schemas/topics.ts';
import { KafkaOptions } from '../../../services/shared/event-log/kafka/options.ts';
import { openKafkaLog } from '../../../services/shared/event-log/kafka.ts';
import type { LogRecord, OutgoingRecord } from '../../../services/shared/event-log/port.ts';
import { logContext } from '../context.ts';
import type { MadeOutputs } from '../made-outputs.ts';

const [, , argument = ''] = process.argv;
const { broker, group, outputsFile }: Readonly<Record<string, string>> = JSON.parse(argument);
const made: MadeOutputs = JSON.parse(readFileSync(String(outputsFile), 'utf8'));
const outputs = new Map(
  Object.entries(made).map(([key, stages]) => [
    key,
    stages.map(({ topic, value, headers }) => ({ topic, key, value: Buffer.from(value), headers })),
  ]),
);

const stage = (records: readonly LogRecord[], topic: TopicName): readonly OutgoingRecord[] =>
  records.flatMap(({ key }) => (outputs.get(key ?? '') ?? []).filter((output) => output.topic === topic));

const options = KafkaOptions.parse({ kind: 'kafka', brokers: [broker], clientId: 'pass-through' });
const log = await openKafkaLog(options, logContext);
const subscription = {
  group: String(group),
  topics: [TOPICS.inventory.name],
  start: 'earliest',
  assignment: { kind: 'shared' },
} as const;
await log.subscribe(subscription, async (records) => {
  await log.publish(stage(records, TOPICS.decisions.name));
  await log.publish(stage(records, TOPICS.commands.name));
});
process.once('SIGTERM', async () => {
  await log[Symbol.asyncDispose]();
  process.exit();
});
process.stdout.write('ready\n');
