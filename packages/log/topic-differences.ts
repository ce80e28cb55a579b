import type { TopicName } from '../../schemas/events/topics.ts';
import { FleetGcError } from '../process/errors.ts';
import { shellWord } from '../text/shell-word.ts';
import { topicSpec } from './partition.ts';
import type { EventLog, TopicDifference } from './port.ts';

const CREATION = 'fleetgc topics create';

/** Where a topic is looked for. */
interface Place {
  /** In front of its name on the brokers of Kafka; empty: nothing. */
  readonly prefix?: string;
  /** Of topics of other fleets that are there, where this one has no prefix. */
  readonly otherPrefixes?: readonly string[];
  /** The file of an embedded log. */
  readonly path?: string;
}

/** The command that creates the topics there. */
export const topicsCreation = ({ prefix = '', path }: Place): string => {
  if (path !== undefined) return `${CREATION} --log embedded --log-path ${shellWord(path)}`;
  return prefix === '' ? CREATION : `${CREATION} --kafka-prefix ${prefix}`;
};
/** What people look for there. */
export const nameIn = ({ prefix = '' }: Place, topic: TopicName): string => `${prefix}${topic}`;

/** Where "topics create" was refused, it has to be told another time with what was changed. */
const MANAGED =
  '. Where a managed Kafka refuses a setting or a number of copies, add --kafka-topic-config and --kafka-replication-factor to it';

const MOST_PREFIXES = 5;

/** A forgotten prefix must not lead to topics without it. */
const otherFleets = ({ otherPrefixes = [] }: Place): string => {
  const shown = otherPrefixes.slice(0, MOST_PREFIXES).join(', ');
  return otherPrefixes.length === 0
    ? ': '
    : `. Topics with the prefix ${shown} are there: is --kafka-prefix missing? If not, `;
};

export const missingTopic = (topic: TopicName, place: Place): TopicDifference => ({
  topic,
  name: nameIn(place, topic),
  kind: 'missing',
  expected: `${topicSpec(topic).partitions} partitions`,
  found: 'no such topic',
  message: `Topic ${nameIn(place, topic)} is missing${otherFleets(place)}create it with: ${topicsCreation(place)}${place.path === undefined ? MANAGED : ''}`,
});

/** What differs in the number of partitions; null when nothing does. */
export function partitionDifference(topic: TopicName, found: number, place: Place): TopicDifference | null {
  const { partitions } = topicSpec(topic);
  if (found === partitions) return null;
  if (found === 0) return missingTopic(topic, place);
  return {
    topic,
    name: nameIn(place, topic),
    kind: 'partitions',
    expected: `${partitions} partitions`,
    found: `${found} partitions`,
    message: `Topic ${nameIn(place, topic)} has ${found} partitions, but ${partitions} are declared. Records would go to the wrong partitions, so FleetGC has stopped. To fix it: stop all parts, keep what the topic holds with: fleetgc audit archive, delete the topic, create it with: ${topicsCreation(place)}, and start them. Without the archive its records are lost, and audit verify cannot prove them any more.`,
  };
}

/** The topic that is there now, if one is, is not the one that was being read. */
export const recreatedTopic = (topic: TopicName, place: Place): FleetGcError =>
  new FleetGcError(
    'TOPICS_RECREATED',
    `Topic ${nameIn(place, topic)} was deleted, recreated or cut off while it was read. Reading begins again with what it holds now.`,
  );

/** A missing topic may come; another number of partitions is never mended by waiting. */
export const refusal = (difference: TopicDifference): FleetGcError =>
  new FleetGcError(difference.kind === 'missing' ? 'TOPICS_MISSING' : 'TOPICS_DIFFER', difference.message);

/** A sentence for each difference, and only one where several topics differ in the same setting. */
export function differenceSentences(differences: readonly TopicDifference[]): readonly string[] {
  const groups = Map.groupBy(differences, ({ name, kind, message }) =>
    kind === 'config' || kind === 'keeps-less' ? message.replace(name, '') : message,
  );
  return [...groups.values()].map(
    ([first, ...others]) =>
      `${first?.message ?? ''}${others.length === 0 || first?.kind === 'only-copy' ? '' : ` The same holds for ${others.map(({ name }) => name).join(', ')}.`}`,
  );
}

/** What the reader here decodes; `producer` and `uncompressed` leave records as they are written. */
const READABLE_COMPRESSION: ReadonlySet<string> = new Set(['producer', 'uncompressed', 'zstd', 'gzip']);

/**
 * Throws `TOPICS_DIFFER` where one of these topics has its broker compress records in a way that no part of FleetGC reads:
 * what is written there stops whoever follows it. Whoever may not ask for settings writes without knowing.
 */
export async function requireReadable(
  log: Pick<EventLog, 'checkTopics'>,
  topics: ReadonlySet<TopicName>,
): Promise<void> {
  const differences = await log.checkTopics().catch(notToBeAsked);
  const unreadable = differences.filter(
    ({ topic, kind, found }) =>
      topics.has(topic) &&
      kind === 'config' &&
      found.startsWith('compression.type=') &&
      !READABLE_COMPRESSION.has(found.slice('compression.type='.length)),
  );
  if (unreadable.length === 0) return;
  const sentences = differenceSentences(unreadable).map((sentence) => `  ${sentence}`);
  throw new FleetGcError('TOPICS_DIFFER', ['Nothing was written:', ...sentences]);
}

function notToBeAsked(error: unknown): readonly TopicDifference[] {
  if (error instanceof FleetGcError && error.code === 'LOG_UNAUTHORIZED') return [];
  throw error;
}

/** Throws `TOPICS_DIFFER` with what to do about each difference. */
export function requireSame(differences: readonly TopicDifference[]): void {
  if (differences.length === 0) return;
  const topics = new Set(differences.map(({ topic }) => topic)).size;
  const sentences = differenceSentences(differences).map((sentence) => `  ${sentence}`);
  throw new FleetGcError('TOPICS_DIFFER', [
    `${topics === 1 ? '1 topic differs' : `${topics} topics differ`} from what this release declares:`,
    ...sentences,
  ]);
}
