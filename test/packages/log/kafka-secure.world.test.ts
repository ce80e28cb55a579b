import { EventLogOptions } from '../../../packages/log/open.ts';
import { startSecureBroker } from '../../support/kafka/kafka.ts';
import { addPartitions } from './add-partitions.ts';
import { eventLogContract } from './contract.ts';
import { deleteTopic } from './delete-topic.ts';

const PREFIX = 'acme.';

eventLogContract('Kafka over TLS, with SCRAM and a prefix of names', async () => {
  const broker = await startSecureBroker();
  const { address, tls, users, passwordFiles } = broker;
  return {
    options: EventLogOptions.parse({
      kind: 'kafka',
      brokers: [address],
      prefix: PREFIX,
      clientId: 'contract',
      replicationFactor: 1,
      ssl: { caFile: tls.authority },
      sasl: {
        mechanism: 'scram-sha-512',
        username: users.scram.username,
        passwordFile: passwordFiles.scram,
      },
    }),
    sessionMs: 10_000,
    addPartitions: addPartitions({ address, caFile: tls.authority, user: users.scram }, PREFIX),
    deleteTopic: deleteTopic({ address, caFile: tls.authority, user: users.scram }, PREFIX),
    [Symbol.asyncDispose]: () => broker[Symbol.asyncDispose](),
  };
});
