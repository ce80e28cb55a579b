import { collectNames, NAMED_TOPICS, namesInRange } from '../../../../../packages/archive/collect-names.ts';
import {
  encodeNames,
  type FoundNames,
  type NameIndex,
  type NameSearch,
  searchNames,
} from '../../../../../packages/archive/names.ts';
import type { LogRecord } from '../../../../../packages/log/port.ts';
import { topicIdOf } from '../../../../../packages/records/parse/parse-record.ts';
import { readPartition } from '../../../../../packages/records/read-log.ts';
import { TOPICS, type TopicName } from '../../../../../schemas/events/topics.ts';
import { logInMemory } from './log-in-memory.ts';

interface IndexedFile {
  readonly name: string;
  readonly records: readonly LogRecord[];
  readonly content: Buffer;
}

/** The index of an archive of these records, whose files hold so many each. */
export function nameIndexOf(records: readonly LogRecord[], fileRows: number): NameIndex {
  const files = filesOf(records, fileRows);
  const found = async (search: NameSearch): Promise<FoundNames[]> =>
    files.flatMap((file) => foundIn(file, search));
  return {
    search: found,
    withinRange: (names, { range, keys, texts }) =>
      Promise.all(
        names.map(async (one) => {
          const own = files.find(({ name }) => name === one.name)?.records ?? [];
          const log = logInMemory(own.filter(({ key }) => key !== null && keys.has(key)));
          const part = { topics: [one.topicId], partition: one.partition, range };
          const recorded = readPartition(log, part, new AbortController().signal);
          return one.isCut ? await namesInRange(one, recorded, { keys, texts }) : one;
        }),
      ),
    lastNames: (search) => found({ ...search, topics: ['inventory'], texts: null }),
    ofNodes: (keys) => logInMemory(records.filter(({ key }) => key !== null && keys.includes(key))),
  };
}

function filesOf(records: readonly LogRecord[], fileRows: number): IndexedFile[] {
  const topics: readonly TopicName[] = NAMED_TOPICS.map((topicId) => TOPICS[topicId].name);
  const places = Map.groupBy(
    records.filter(({ topic }) => topics.includes(topic)),
    ({ topic, partition, offset }) => `${topic}/${partition}-${offset / BigInt(fileRows)}`,
  );
  return [...places].map(([name, own]) => {
    const names = collectNames();
    for (const record of own) names.add(record);
    return { name, records: own, content: encodeNames(names.lines()) };
  });
}

function foundIn(
  { name, records, content }: IndexedFile,
  { topics, range, texts }: NameSearch,
): FoundNames[] {
  const [first] = records;
  const topicId = first && topicIdOf(first.topic);
  if (topicId === undefined || !topics.includes(topicId)) return [];
  const isIn = ({ timestampMs }: LogRecord): boolean =>
    timestampMs >= (range.fromMs ?? 0) && timestampMs < (range.toMs ?? Number.POSITIVE_INFINITY);
  if (!records.some(isIn)) return [];
  const place = { name, topicId, partition: first?.partition ?? 0, records: records.length };
  return [{ ...place, isCut: !records.every(isIn), ...searchNames(content, texts) }];
}
