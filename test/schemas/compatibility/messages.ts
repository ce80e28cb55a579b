import { z } from 'zod';
import { keptCorpus } from '../../../lab/fuzz/engine/corpus.ts';
import { Choices } from '../../../lab/fuzz/mutate/choices.ts';
import { type Json, toJson } from '../../../lab/fuzz/mutate/json.ts';
import { mutated } from '../../../lab/fuzz/mutate/mutate.ts';
import { schemaOf } from '../../../lab/fuzz/mutate/schema.ts';
import { Dictionary } from '../../../lab/fuzz/mutate/values.ts';
import { seededRandom } from '../../../lab/sim/random.ts';
import { parseValue } from '../../../packages/records/parse/parse-record.ts';
import { claimsOf } from '../../../schemas/events/claims.ts';
import { eventType } from '../../../schemas/events/envelope.ts';
import type { ArchiveHead } from '../../../schemas/events/head.ts';
import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import { TOPIC_IDS } from '../../../schemas/exchange/topics.ts';
import { approval, approvedOwner } from '../../fixtures/approval.ts';
import { clusterCommandIntent, clusterPolicyRecord, clusterRemoved } from '../../fixtures/cluster.ts';
import { latestClusterFact, latestNodeFact } from '../../fixtures/latest-fact.ts';
import { deletionRecord, pauseRecord } from '../../fixtures/policy.ts';
import { removalIntent } from '../../fixtures/results.ts';
import { readCorpus } from '../../packages/audit/deciders/corpus.ts';

export interface Message {
  readonly topic: TopicId;
  readonly type: string;
  readonly event: unknown;
}

const Claimed = z.looseObject({ type: z.string(), version: z.number() });

/** Whoever reads the topic today takes it. */
export const isTaken = ({ topic, event }: Message): boolean => parseValue(topic, event).ok;

export function messageOf(topic: TopicId, event: unknown): Message | null {
  const claim = Claimed.safeParse(event);
  return claim.success ? { topic, type: eventType(claim.data), event: toJson(event) } : null;
}

const taken = (topic: TopicId, events: readonly unknown[]): readonly Message[] =>
  events
    .map((event) => messageOf(topic, event))
    .filter((message) => message !== null)
    .filter(isTaken);

const archiveHead: ArchiveHead = {
  type: 'fleetgc.archive-head',
  version: 1,
  id: 'archive-head-1',
  archive: 'a'.repeat(64),
  signedAtMs: 1_767_225_600_000,
  lines: 12,
  hash: 'b'.repeat(64),
  fromLine: 10,
  sums: ['0123abcd', '4567ef01'],
};

/** Events that neither a recorded corpus nor a kept input of the fuzzer has. */
const MADE_BY_HAND: Partial<Readonly<Record<TopicId, readonly unknown[]>>> = {
  clusterRemoved: [clusterRemoved(), clusterRemoved({ saved: { as: 'name', because: 'secret' } })],
  clusterResults: [clusterCommandIntent()],
  heads: [archiveHead],
  latestFacts: [latestNodeFact(), latestClusterFact()],
  results: [removalIntent()],
  policies: [clusterPolicyRecord(), approval(approvedOwner('uid-1', 3))],
  policyVersions: [
    clusterPolicyRecord(),
    approval(approvedOwner('uid-1', 3)),
    pauseRecord(),
    deletionRecord('web'),
  ],
};

const Input = z.looseObject({ event: z.unknown() });

/** Every kind of message that this release reads, as it was recorded: the corpus of the deciders, and what the fuzzer kept. */
export function recordedMessages(): readonly Message[] {
  const corpus = readCorpus();
  return TOPIC_IDS.flatMap((id) => [
    ...taken(
      id,
      corpus.filter(({ topic }) => topic === id).map(({ event }) => event),
    ),
    ...taken(
      id,
      keptCorpus(id).map((input) => Input.safeParse(input).data?.event),
    ),
    ...taken(id, MADE_BY_HAND[id] ?? []),
  ]);
}

/** Messages that today's schemas take, each some changes away from a recorded one: so they have fields and values that are new. */
export function* madeMessages(messages: readonly Message[], count: number, seed: number): Iterable<Message> {
  const choices = new Choices(seededRandom(seed));
  const dictionary = new Dictionary();
  for (const { event } of messages) dictionary.learn(toJson(event));
  const schemas = new Map(
    [...new Set(messages.map(({ topic, type }) => ({ topic, type })))].map(({ topic, type }) => [
      `${topic} ${type}`,
      schemaOfEvent(topic, type),
    ]),
  );
  for (let made = 0; made < count; made += 1) {
    const from = choices.of(messages);
    const schema = schemas.get(`${from.topic} ${from.type}`);
    if (schema === undefined) continue;
    let event: Json = toJson(from.event);
    for (let changes = choices.below(4); changes >= 0; changes -= 1)
      event = mutated(event, schema, { choices, dictionary, manner: 'gentle' });
    const message = messageOf(from.topic, event);
    if (message !== null && isTaken(message) && !hasForbiddenName(message)) yield message;
  }
}

/** Our parser drops what has this name, and other tools may not. */
const hasForbiddenName = ({ event }: Message): boolean => JSON.stringify(event).includes('"__proto__"');

function schemaOfEvent(topic: TopicId, type: string): ReturnType<typeof schemaOf> {
  const found = TOPICS[topic].schemas.find((schema) =>
    claimsOf(schema).some((claim) => eventType(claim) === type),
  );
  if (found === undefined) throw new Error(`${type} has no schema on ${topic}`);
  return schemaOf(found);
}
