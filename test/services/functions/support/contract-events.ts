import fc from 'fast-check';
import { z } from 'zod';
import type { OutgoingRecord } from '../../../../packages/event-log/port.ts';
import { parseValue } from '../../../../packages/pipeline/parse/parse-record.ts';
import type { TopicId } from '../../../../schemas/events/topics.ts';
import { ARBITRARY_CASES } from '../../audit/deciders/arbitrary-cases.ts';
import { type CorpusCase, readCorpus } from '../../audit/deciders/corpus.ts';
import { outgoing } from './function-events.ts';

type Topic = CorpusCase['topic'];
const SEED = 20;
const DRAWN = 40;
/** Ten thousand of any size would take a disk; that they decide alike does not depend on it. */
const LARGEST_BYTES = 5_000;

const Event = z.record(z.string(), z.unknown());

/** Recorded and drawn events of a topic, of which many are made. */
function baseOf(topic: Topic): readonly z.infer<typeof Event>[] {
  const recorded = readCorpus().filter((each) => each.topic === topic);
  const drawn = ARBITRARY_CASES[topic].flatMap((arbitrary) =>
    fc.sample(arbitrary, { seed: SEED, numRuns: DRAWN }),
  );
  const small = [...recorded, ...drawn]
    .map(({ event }) => Event.parse(JSON.parse(JSON.stringify(event))))
    .filter((event) => JSON.stringify(event).length <= LARGEST_BYTES);
  if (small.length === 0) throw new Error(`there is no small event of ${topic}`);
  return small;
}

/** Each from a node or a cluster of its own, so that none of them overtakes another. */
export function contractEvents(topic: Topic, count: number): readonly OutgoingRecord[] {
  const base = baseOf(topic);
  return Array.from({ length: count }, (_, index) => {
    const event = { ...base[index % base.length], ...identityOf(topic, index) };
    return recordOf(topic, event);
  });
}

const identityOf = (topic: Topic, index: number) =>
  topic.startsWith('cluster')
    ? { id: `${topic}-${index}`, cluster: `cluster-${index}` }
    : { id: `${topic}-${index}`, node: `web-${index}` };

function recordOf<Id extends TopicId>(topic: Id, event: unknown): OutgoingRecord {
  const parsed = parseValue(topic, event);
  if (!parsed.ok) throw new Error(parsed.rejection.message);
  return outgoing(topic, parsed.event);
}
