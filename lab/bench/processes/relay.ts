/** A bare kafkajs relay, or several in a row: what is consumed is produced, the same bytes. */
import { type Consumer, Kafka, logLevel } from 'kafkajs';
import type { ScriptArguments } from './arguments.ts';

const [, , argument = ''] = process.argv;
const { brokers, hops }: ScriptArguments['relay'] = JSON.parse(argument);
const kafka = new Kafka({ brokers: [...brokers], clientId: 'relay', logLevel: logLevel.ERROR });
const producer = kafka.producer();
await producer.connect();

const consumers: Consumer[] = [];

async function relay(from: string, to: string): Promise<void> {
  const consumer = kafka.consumer({ groupId: `relay-${from}` });
  consumers.push(consumer);
  await consumer.connect();
  await consumer.subscribe({ topics: [from], fromBeginning: true });
  const joined = new Promise((resolve, reject) => {
    consumer.on(consumer.events.FETCH, resolve);
    consumer.on(consumer.events.CRASH, ({ payload }) => payload.restart || reject(payload.error));
  });
  await consumer.run({
    eachMessage: async ({ message: { key, value, headers = {} }, partition }) => {
      await producer.send({ topic: to, acks: -1, messages: [{ key, value, headers, partition }] });
    },
  });
  await joined;
}

await Promise.all(hops.map(([from, to]) => relay(from, to)));
process.once('SIGTERM', async () => {
  await Promise.all(consumers.map((consumer) => consumer.disconnect()));
  process.exit();
});
process.stdout.write('ready\n');
