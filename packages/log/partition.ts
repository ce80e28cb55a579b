import { placingPart } from '../../schemas/events/latest-fact.ts';
import { TOPICS, type TopicName, type TopicSpec } from '../../schemas/events/topics.ts';
import { FleetGcError } from '../process/errors.ts';

const SEED = 0x9747b28c;
const MULTIPLIER = 0x5bd1e995;

const scramble = (word: number): number => {
  const product = Math.imul(word, MULTIPLIER);
  return Math.imul(product ^ (product >>> 24), MULTIPLIER);
};

function mixTail(hash: number, bytes: Uint8Array, from: number): number {
  const [a, b, c] = bytes.subarray(from);
  if (a === undefined) return hash;
  return Math.imul(hash ^ (a | ((b ?? 0) << 8) | ((c ?? 0) << 16)), MULTIPLIER);
}

/** MurmurHash2, 32 bit, with Kafka's seed. Signed, as in Kafka's own clients. */
export function murmur2(bytes: Uint8Array): number {
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const whole = bytes.length - (bytes.length % 4);
  let hash = SEED ^ bytes.length;
  for (let at = 0; at < whole; at += 4) {
    hash = Math.imul(hash, MULTIPLIER) ^ scramble(words.getInt32(at, true));
  }
  hash = mixTail(hash, bytes, whole);
  hash = Math.imul(hash ^ (hash >>> 13), MULTIPLIER);
  return hash ^ (hash >>> 15);
}

const SPEC_BY_NAME: ReadonlyMap<string, TopicSpec> = new Map(
  Object.values(TOPICS).map((spec) => [spec.name, spec]),
);

/** Every topic of the table, in its order. */
export const TOPIC_NAMES: readonly TopicName[] = Object.values(TOPICS).map((spec) => spec.name);

/** The row of the table. */
export function topicSpec(name: TopicName): TopicSpec {
  const spec = SPEC_BY_NAME.get(name);
  if (spec === undefined) throw new TypeError(`topic ${name} is not in the table of topics`);
  return spec;
}

/** Where a key lies: Kafka's default partitioner over the *declared* number of partitions, never over the one found. */
export function partitionOf(topic: TopicName, key: string): number {
  const { key: kind, partitions } = topicSpec(topic);
  const placing = kind === 'fact and subject' ? placingPart(key) : key;
  return (murmur2(Buffer.from(placing)) & 0x7fffffff) % partitions;
}

/** Throws `USAGE` for a partition that is not declared; none at all means all of them. */
export function requirePartition(topic: TopicName, partition: number | undefined): void {
  const { partitions } = topicSpec(topic);
  if (partition === undefined || (partition >= 0 && partition < partitions)) return;
  throw new FleetGcError(
    'USAGE',
    `Topic ${topic} has no partition ${partition}: it has 0 to ${partitions - 1}.`,
  );
}

/** `topic/partition`, by which a partition is known to people and in maps. */
export const partitionName = ({
  topic,
  partition,
}: {
  readonly topic: string;
  readonly partition: number;
}): string => `${topic}/${partition}`;
