import { expect, test } from 'vitest';
import { z } from 'zod';
import { DeadLetterCause } from '../../schemas/events/dead-letter.ts';
import { EnvelopeHeaders, eventType } from '../../schemas/events/envelope.ts';
import { TOPICS, type TopicSpec } from '../../schemas/events/topics.ts';
import { generateJsonSchemas } from '../../schemas/generate.ts';
import { textOf } from '../deploy/files.ts';
import { tableRows } from './markdown.ts';

const page = textOf('docs/reference/events.md');
const DAY_MS = 86_400_000;

function kept({ retentionMs, compacted }: TopicSpec): string {
  if (retentionMs === 'forever') return compacted ? 'for ever, compacted' : 'for ever';
  const days = retentionMs / DAY_MS;
  const time = `${days} ${days === 1 ? 'day' : 'days'}`;
  return compacted ? `${time}, compacted` : time;
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

const rowsOfEvents = tableRows(page, 'event').map(([link = '', topics = '']) => ({
  event: /^\[(.*)\]/.exec(link)?.[1],
  topics: [...topics.matchAll(/gc\.[a-z.-]+/g)].map(([name]) => name),
}));

test('every event has a schema and a row', () => {
  const events = [...generateJsonSchemas().keys()]
    .map((file) => file.replace('.schema.json', ''))
    .filter((name) => /\.v\d+$/.test(name));
  expect(rowsOfEvents.map(({ event }) => event).toSorted()).toEqual(events.toSorted());
});

const OneEvent = z.object({
  properties: z.object({ type: z.object({ const: z.string() }), version: z.object({ const: z.number() }) }),
});
const Events = z.union([
  OneEvent.transform((one) => [one]),
  z.object({ oneOf: z.array(OneEvent) }).transform(({ oneOf }) => oneOf),
]);

const eventsOf = ({ schemas }: TopicSpec): readonly string[] =>
  schemas
    .flatMap((schema) => Events.parse(z.toJSONSchema(schema, { io: 'input' })))
    .map(({ properties: { type, version } }) => eventType({ type: type.const, version: version.const }));

test.each(Object.values<TopicSpec>(TOPICS))('the events of $name are those of the code', (topic) => {
  const told = rowsOfEvents.filter(({ topics }) => topics.includes(topic.name)).map(({ event }) => event);
  expect(told.toSorted()).toEqual([...new Set(eventsOf(topic))].toSorted());
});

test('the headers are those of the envelope', () => {
  expect(tableRows(page, 'header').map(([name]) => name)).toEqual(Object.keys(EnvelopeHeaders.shape));
});

test('the causes of dead letters are those of the schema', () => {
  expect(tableRows(page, 'cause').map(([cause]) => cause)).toEqual(DeadLetterCause.options);
});
