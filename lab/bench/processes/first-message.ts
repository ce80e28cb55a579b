/** Node.js and kafkajs alone: joins a group and says so when the first message comes. */
import { Kafka, logLevel } from 'kafkajs';
import type { ScriptArguments } from './arguments.ts';

const [, , argument = ''] = process.argv;
const { broker, topic, group }: ScriptArguments['first-message'] = JSON.parse(argument);
const kafka = new Kafka({ brokers: [broker], clientId: 'first-message', logLevel: logLevel.ERROR });
const consumer = kafka.consumer({ groupId: group });
process.stdout.write('ready\n');
await consumer.connect();
await consumer.subscribe({ topics: [topic] });
await consumer.run({ eachMessage: async () => void process.stdout.write('first message\n') });
process.once('SIGTERM', async () => {
  await consumer.disconnect();
  process.exit();
});
