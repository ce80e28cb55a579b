import { EVENT_SCHEMAS } from '../../../../packages/records/parse/event-schemas.ts';
import { isOffsetText } from '../../../../schemas/events/offset-text.ts';
import { TOPICS, type TopicId, type TopicName } from '../../../../schemas/events/topics.ts';

/** The attributes of a CloudEvent by their names; all values as text. */
export type Attributes = ReadonlyMap<string, string>;

/** Where an event lies on the event log. */
export interface Position {
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: bigint;
}

/** What an event of KafkaSource is called that is no CloudEvent on the topic. */
const KNATIVE_OTHER_TYPE = 'dev.knative.kafka.event';
/** Those of a position are no headers of the record. */
export const POSITION_ATTRIBUTES: ReadonlySet<string> = new Set([
  'fleetgctopic',
  'fleetgcpartition',
  'fleetgcoffset',
  'fleetgctimems',
  'fleetgcdatedbywriter',
  'knativekafkapartition',
  'knativekafkaoffset',
  'partitionkey',
]);

/** Why nobody can tell it, or need not. */
interface NoPosition {
  readonly kind: 'no-position' | 'not-taken';
  readonly detail: string;
}

const nowhere = (detail: string): NoPosition => ({ kind: 'no-position', detail });

export function positionOf(attributes: Attributes, taken: readonly TopicId[]): Position | NoPosition {
  const topic = topicOf(attributes, taken);
  if (typeof topic === 'string') return { kind: 'not-taken', detail: topic };
  const found = PLACES.flatMap((place) => place(attributes) ?? []);
  const [first, ...others] = found;
  if (first === undefined) return nowhere(NO_POSITION);
  if (others.some(({ partition, offset }) => partition !== first.partition || offset !== first.offset))
    return nowhere('its attributes name two different positions; nobody can tell which of them is meant');
  const { name, partitions } = TOPICS[topic.id];
  if (!/^[0-9]{1,5}$/.test(first.partition) || Number(first.partition) >= partitions)
    return nowhere(`its partition is no number from 0 to ${partitions - 1}, which ${name} has`);
  if (!isOffsetText(first.offset))
    return nowhere('its offset is no whole number of at most 18 digits, as the event log has them');
  return { topic: name, partition: Number(first.partition), offset: BigInt(first.offset) };
}

const NO_POSITION =
  'nobody can tell where it lies on the event log, which every decision names: send the attributes fleetgctopic, fleetgcpartition and fleetgcoffset (KafkaSource of Knative sends knativekafkapartition and knativekafkaoffset by itself)';

interface Place {
  readonly partition: string;
  readonly offset: string;
}

const named =
  (partitionName: string, offsetName: string) =>
  (attributes: Attributes): Place | null => {
    const [partition, offset] = [attributes.get(partitionName), attributes.get(offsetName)];
    return partition === undefined || offset === undefined ? null : { partition, offset };
  };

/** In the subject of what is no CloudEvent on the topic, e.g. `partition:0#564`. */
function inSubject(attributes: Attributes): Place | null {
  if (attributes.get('type') !== KNATIVE_OTHER_TYPE) return null;
  const [, partition, offset] = /^partition:([0-9]+)#([0-9]+)$/.exec(attributes.get('subject') ?? '') ?? [];
  return partition === undefined || offset === undefined ? null : { partition, offset };
}

const PLACES = [
  named('fleetgcpartition', 'fleetgcoffset'),
  named('knativekafkapartition', 'knativekafkaoffset'),
  inSubject,
];

/** Each type of event is on one topic that a service reads; whoever says which has to say the same. Or why it is not taken, in a sentence. */
function topicOf(attributes: Attributes, taken: readonly TopicId[]): { readonly id: TopicId } | string {
  const said = attributes.get('fleetgctopic') ?? knativeTopic(attributes);
  const names = taken.map((id) => TOPICS[id].name).join(' and ');
  if (said !== undefined) {
    const id = taken.find((each) => TOPICS[each].name === said);
    return id === undefined ? `this function takes events of ${names} alone` : { id };
  }
  const type = (attributes.get('type') ?? '').replace(/\.v[0-9]+$/, '');
  const id = taken.find((each) => EVENT_SCHEMAS[each].versionsOf(type).length > 0);
  return id === undefined
    ? `its type is none of those of ${names}, of which alone this function takes events`
    : { id };
}

/** Behind the last `#` of the source. */
const knativeTopic = (attributes: Attributes): string | undefined =>
  attributes.get('type') === KNATIVE_OTHER_TYPE ? attributes.get('source')?.split('#').at(-1) : undefined;
