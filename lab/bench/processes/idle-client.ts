/** A kafkajs consumer with a producer that have nothing to do; `repaired` without the idle loop of kafkajs 2.2.4. */
import { Kafka, logLevel } from 'kafkajs';
import { repairRequestQueue } from '../../../packages/log/kafka/client/kafkajs-repairs.ts';
import type { ScriptArguments } from './arguments.ts';

const [, , argument = ''] = process.argv;
const { broker, topics, repaired }: ScriptArguments['idle-client'] = JSON.parse(argument);
if (repaired) repairRequestQueue();
const kafka = new Kafka({ brokers: [broker], clientId: 'idle', logLevel: logLevel.ERROR });
const producer = kafka.producer();
const consumer = kafka.consumer({ groupId: `idle-${repaired ? 'repaired' : 'stock'}` });
await Promise.all([producer.connect(), consumer.connect()]);
await consumer.subscribe({ topics: [...topics], fromBeginning: false });
const joined = new Promise((resolve, reject) => {
  consumer.on(consumer.events.FETCH, resolve);
  consumer.on(consumer.events.CRASH, ({ payload }) => payload.restart || reject(payload.error));
});
await consumer.run({ eachMessage: async () => {} });
await joined;
process.stdout.write('ready\n');
