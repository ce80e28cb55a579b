import { EventLogOptions } from '../../../packages/log/open.ts';
import { startBroker } from '../../support/kafka/kafka.ts';
import { addPartitions } from './add-partitions.ts';
import { eventLogContract } from './contract.ts';
import { deleteTopic } from './delete-topic.ts';

eventLogContract('Kafka', async () => {
  const broker = await startBroker();
  return {
    options: EventLogOptions.parse({
      kind: 'kafka',
      brokers: [broker.address],
      clientId: 'contract',
      replicationFactor: 1,
    }),
    sessionMs: 10_000,
    addPartitions: addPartitions(broker),
    deleteTopic: deleteTopic(broker),
    [Symbol.asyncDispose]: () => broker[Symbol.asyncDispose](),
  };
});
