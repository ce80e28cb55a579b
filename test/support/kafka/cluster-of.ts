import type { Kafka } from 'kafkajs';
import type { KafkajsCluster } from '../../../packages/log/kafka/client/cluster.ts';

/** The connections of a consumer of kafkajs, as it hands them to its assigner: nothing of ours stands between. */
export function clusterOf(kafka: Kafka): KafkajsCluster {
  const captured: KafkajsCluster[] = [];
  kafka.consumer({
    groupId: 'none',
    partitionAssigners: [
      ({ cluster }) => {
        captured.push(cluster);
        const name = 'none';
        const protocol = () => ({ name, metadata: Buffer.alloc(0) });
        return { name, version: 0, protocol, assign: async () => [] };
      },
    ],
  });
  const [cluster] = captured;
  if (cluster === undefined) throw new Error('kafkajs made a consumer without asking its assigner');
  return cluster;
}
