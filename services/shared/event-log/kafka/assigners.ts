import {
  AssignerProtocol,
  type Assignment,
  type Cluster,
  type GroupMember,
  type GroupMemberAssignment,
  type PartitionAssigner,
} from 'kafkajs';
import { z } from 'zod';
import type { TopicName } from '../../../../schemas/topics.ts';
import { partitionOf, topicSpec } from '../partition.ts';
import type { Subscription } from '../port.ts';

const { MemberAssignment, MemberMetadata } = AssignerProtocol;
const VERSION = 0;

/** What a member of a `key` group tells the others: since when it is there (epoch milliseconds of its clock). */
const KeyMember = z.object({ sinceMs: z.number() });

/** Who gets what. Only declared partitions are ever given out, whatever the broker has. */
type Plan = ReadonlyMap<string, Assignment>;

const sortedIds = (members: readonly GroupMember[]): readonly string[] =>
  members.map(({ memberId }) => memberId).toSorted();

/** Partition n of every topic goes to the same member. */
export function planShared(members: readonly GroupMember[], topics: readonly TopicName[]): Plan {
  const ids = sortedIds(members);
  const owned = (index: number, topic: TopicName): number[] =>
    Array.from({ length: topicSpec(topic).partitions }, (_, partition) => partition).filter(
      (partition) => partition % ids.length === index,
    );
  return new Map(
    ids.map((id, index) => [id, Object.fromEntries(topics.map((topic) => [topic, owned(index, topic)]))]),
  );
}

function sinceOf({ memberMetadata }: GroupMember): number {
  const { userData } = MemberMetadata.decode(memberMetadata) ?? {};
  const parsed = KeyMember.safeParse(userData && JSON.parse(userData.toString()));
  return parsed.success ? parsed.data.sinceMs : 0;
}

/** The newest member gets the partition of the key; the others stand by with nothing. */
export function planKey(members: readonly GroupMember[], topics: readonly TopicName[], key: string): Plan {
  const byAge = members.toSorted((a, b) => sinceOf(b) - sinceOf(a) || (a.memberId < b.memberId ? 1 : -1));
  const owned = Object.fromEntries(topics.map((topic) => [topic, [partitionOf(topic, key)]]));
  return new Map(byAge.map(({ memberId }, index) => [memberId, index === 0 ? owned : {}]));
}

const encodePlan = (plan: Plan): GroupMemberAssignment[] =>
  [...plan].map(([memberId, assignment]) => ({
    memberId,
    memberAssignment: MemberAssignment.encode({ version: VERSION, assignment, userData: Buffer.alloc(0) }),
  }));

/** The group protocol of a subscription. `onCluster` gets the connections of the consumer, for reading with them. */
export function assignerFor(
  { assignment, topics }: Pick<Subscription, 'assignment' | 'topics'>,
  sinceMs: number,
  onCluster: (cluster: Cluster) => void,
): PartitionAssigner {
  const { kind } = assignment;
  const userData = Buffer.from(JSON.stringify(kind === 'key' ? { sinceMs } : {}));
  return ({ cluster }) => {
    onCluster(cluster);
    return {
      name: `fleetgc-${kind}`,
      version: VERSION,
      protocol: (subscribed) => ({
        name: `fleetgc-${kind}`,
        metadata: MemberMetadata.encode({ version: VERSION, topics: subscribed.topics, userData }),
      }),
      assign: async ({ members }) =>
        encodePlan(kind === 'key' ? planKey(members, topics, assignment.key) : planShared(members, topics)),
    };
  };
}
