import { expect, test } from 'vitest';
import { EnvelopeHeaders } from '../../schemas/events/envelope.ts';
import { TOPICS, type TopicSpec } from '../../schemas/events/topics.ts';
import { generateJsonSchemas } from '../../schemas/generate.ts';
import { textOf } from './files.ts';
import { tableRows } from './markdown.ts';

const page = textOf('docs/reference/events.md');
const DAY_MS = 86_400_000;

function kept({ retentionMs, compacted }: TopicSpec): string {
  if (retentionMs === 'forever') return compacted ? 'for ever, compacted' : 'for ever';
  const days = retentionMs / DAY_MS;
  return `${days} ${days === 1 ? 'day' : 'days'}`;
}

test('the topics are those of the table in the code', () => {
  const told = tableRows(page, 'topic').map(([name, , key, partitions, retention]) => [
    name,
    key,
    partitions,
    retention,
  ]);
  const declared = Object.values<TopicSpec>(TOPICS).map((topic) => [
    topic.name,
    topic.key,
    String(topic.partitions),
    kept(topic),
  ]);
  expect(told).toEqual(declared);
});

test('every event has a schema, a row and a topic', () => {
  const events = [...generateJsonSchemas().keys()]
    .map((file) => file.replace('.schema.json', ''))
    .filter((name) => /\.v\d+$/.test(name))
    .toSorted();
  const rows = tableRows(page, 'event').map(([link]) => /^\[(.*)\]/.exec(link ?? '')?.[1]);
  const onTopics = tableRows(page, 'topic').flatMap((cells) =>
    [...(cells[5] ?? '').matchAll(/fleetgc\.[a-z.-]+\.v\d+/g)].map(([name]) => name),
  );
  expect(rows.toSorted()).toEqual(events);
  expect([...new Set(onTopics)].toSorted()).toEqual(events);
});

test('the headers are those of the envelope', () => {
  expect(tableRows(page, 'header').map(([name]) => name)).toEqual(Object.keys(EnvelopeHeaders.shape));
});
