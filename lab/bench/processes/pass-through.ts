/**
 * The same consumer and producer as a decision service's, and the same bytes in and out, but nothing is decided: what it
 * publishes was made before. Asked to check, it parses and validates each record as every consumer of ours does.
 */
import { readFileSync } from 'node:fs';
import { KafkaOptions } from '../../../packages/log/kafka/client/options.ts';
import { openKafkaLog } from '../../../packages/log/kafka.ts';
import type { LogRecord, OutgoingRecord } from '../../../packages/log/port.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import { TOPICS, type TopicName } from '../../../schemas/events/topics.ts';
import { logContext } from '../context.ts';
import type { MadeOutputs } from '../made-outputs.ts';
import type { ScriptArguments } from './arguments.ts';

const [, , argument = ''] = process.argv;
const { broker, group, outputsFile, checks }: ScriptArguments['pass-through'] = JSON.parse(argument);
const made: MadeOutputs = JSON.parse(readFileSync(outputsFile, 'utf8'));
const outputs = new Map(
  Object.entries(made).map(([key, stages]) => [
    key,
    stages.map(({ topic, value, headers }) => ({ topic, key, value: Buffer.from(value), headers })),
  ]),
);

const stage = (records: readonly LogRecord[], topic: TopicName): readonly OutgoingRecord[] =>
  records.flatMap(({ key }) => (outputs.get(key ?? '') ?? []).filter((output) => output.topic === topic));

function check(record: LogRecord): void {
  const parsed = parseRecord('inventory', record);
  if (!parsed.ok) throw new Error(`not an inventory: ${parsed.rejection.message}`);
}

const options = KafkaOptions.parse({ kind: 'kafka', brokers: [broker], clientId: 'pass-through' });
const log = await openKafkaLog(options, logContext);
const subscription = {
  group,
  topics: [TOPICS.inventory.name],
  start: 'earliest',
  assignment: { kind: 'shared' },
} as const;
await log.subscribe(subscription, async (records) => {
  if (checks) records.forEach(check);
  await log.publish(stage(records, TOPICS.decisions.name));
  await log.publish(stage(records, TOPICS.commands.name));
});
process.once('SIGTERM', async () => {
  await log[Symbol.asyncDispose]();
  process.exit();
});
process.stdout.write('ready\n');
