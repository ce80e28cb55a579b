import fc from 'fast-check';
import { z } from 'zod';
import type { OutgoingRecord } from '../../../../../packages/log/port.ts';
import { parseValue } from '../../../../../packages/records/parse/parse-record.ts';
import { TOPICS, type TopicId } from '../../../../../schemas/events/topics.ts';
import { census } from '../../../../fixtures/census.ts';
import { reclaim } from '../../../../fixtures/reclaim.ts';
import {
  objectResult,
  pressureUnrelieved,
  reclaimGoesOn,
  refusedCommand,
} from '../../../../fixtures/results.ts';
import { ARBITRARY_CASES } from '../../../../packages/audit/deciders/arbitrary-cases.ts';
import { type CorpusCase, readCorpus } from '../../../../packages/audit/deciders/corpus.ts';
import { outgoing } from './function-events.ts';

const SEED = 20;
const DRAWN = 40;
/** Ten thousand of any size would take a disk; that they decide alike does not depend on it. */
const LARGEST_BYTES = 5_000;
/** More than one, so that there is an order to keep. */
const PER_CLUSTER = 5;

const Event = z.record(z.string(), z.unknown());

const stuck = {
  count: 1,
  first: [{ ownerUid: 'u', ownerKind: 'ConfigMap', ownerName: 'c', objects: 3, ofKind: 3 }],
};

/** Topics of which no decision records what was read, or of few events alone. */
const WRITTEN: Readonly<Partial<Record<TopicId, readonly object[]>>> = {
  results: [
    objectResult(),
    refusedCommand(),
    pressureUnrelieved(),
    ...[1, 2, 3, 4].map((round) => reclaimGoesOn({ reclaim: reclaim({ round }) })),
    reclaimGoesOn({ reclaim: reclaim({ actions: ['images'] }), availableNow: '199' }),
  ],
  clusterCensus: [census(), census({ missingOwners: stuck })],
};

const isOfCorpus = (topic: TopicId): topic is CorpusCase['topic'] => topic in ARBITRARY_CASES;

/** Recorded, drawn and written events of a topic, of which many are made. */
function baseOf(topic: TopicId): readonly z.infer<typeof Event>[] {
  const recorded = readCorpus().filter((each) => each.topic === topic);
  const drawn = isOfCorpus(topic)
    ? ARBITRARY_CASES[topic].flatMap((arbitrary) => fc.sample(arbitrary, { seed: SEED, numRuns: DRAWN }))
    : [];
  const small = [...[...recorded, ...drawn].map(({ event }) => event), ...(WRITTEN[topic] ?? [])]
    .map((event) => Event.parse(JSON.parse(JSON.stringify(event))))
    .filter((event) => JSON.stringify(event).length <= LARGEST_BYTES);
  if (small.length === 0) throw new Error(`there is no small event of ${topic}`);
  return small;
}

/**
 * Those of nodes each from a node of its own: the consumer of the event log passes over what is older, and a function that sees one
 * event does not. Of a cluster nothing is passed over.
 */
export function contractEvents(topic: TopicId, count: number): readonly OutgoingRecord[] {
  const base = baseOf(topic);
  return Array.from({ length: count }, (_, index) => {
    const event = { ...base[index % base.length], ...identityOf(topic, index) };
    return recordOf(topic, event);
  });
}

const identityOf = (topic: TopicId, index: number) =>
  TOPICS[topic].key === 'cluster'
    ? { id: `${topic}-${index}`, cluster: `cluster-${Math.floor(index / PER_CLUSTER)}` }
    : { id: `${topic}-${index}`, node: `${topic.toLowerCase()}-${index}` };

function recordOf<Id extends TopicId>(topic: Id, event: unknown): OutgoingRecord {
  const parsed = parseValue(topic, event);
  if (!parsed.ok) throw new Error(parsed.rejection.message);
  return outgoing(topic, parsed.event);
}
