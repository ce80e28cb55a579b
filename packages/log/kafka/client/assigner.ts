import { AssignerProtocol, type GroupMemberAssignment, type PartitionAssigner } from 'kafkajs';
import type { TopicName } from '../../../../schemas/events/topics.ts';
import { topicSpec } from '../../partition.ts';
import type { Cluster } from './cluster.ts';

const { MemberAssignment, MemberMetadata } = AssignerProtocol;
const VERSION = 0;
const NAME = 'fleetgc-shared';
/** Members tell each other nothing. */
const USER_DATA = Buffer.from('{}');

/** Partitions of a member, by topic. */
export type Assignment = Readonly<Record<string, readonly number[]>>;

/** Who gets what, by member. Only declared partitions are ever given out, whatever the broker has. */
type Plan = ReadonlyMap<string, Record<string, number[]>>;

/** Partition n of every topic goes to the same member. */
export function planShared(
  members: readonly { readonly memberId: string }[],
  topics: readonly TopicName[],
): Plan {
  const ids = members.map(({ memberId }) => memberId).toSorted();
  const owned = (index: number, topic: TopicName): number[] =>
    Array.from({ length: topicSpec(topic).partitions }, (_, partition) => partition).filter(
      (partition) => partition % ids.length === index,
    );
  return new Map(
    ids.map((id, index) => [id, Object.fromEntries(topics.map((topic) => [topic, owned(index, topic)]))]),
  );
}

const encodePlan = (plan: Plan): GroupMemberAssignment[] =>
  [...plan].map(([memberId, assignment]) => ({
    memberId,
    memberAssignment: MemberAssignment.encode({ version: VERSION, assignment, userData: Buffer.alloc(0) }),
  }));

/** The group protocol of a subscription. `onCluster` gets the connections of the consumer, for reading with them. */
export const assignerFor =
  (topics: readonly TopicName[], onCluster: (cluster: Cluster) => void): PartitionAssigner =>
  ({ cluster }) => {
    onCluster(cluster);
    return {
      name: NAME,
      version: VERSION,
      protocol: (subscribed) => ({
        name: NAME,
        metadata: MemberMetadata.encode({ version: VERSION, topics: subscribed.topics, userData: USER_DATA }),
      }),
      assign: async ({ members }) => encodePlan(planShared(members, topics)),
    };
  };
