import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { OutgoingRecord } from '../../../packages/log/port.ts';
import { mergeStages } from '../../../packages/records/act.ts';
import type { Stages } from '../../../packages/records/publisher.ts';
import type { TopicName } from '../../../schemas/events/topics.ts';

const DECISIONS: TopicName = 'gc.node.decisions';
const COMMANDS: TopicName = 'gc.node.commands';

const record = (topic: TopicName, key: string, id: string): OutgoingRecord => ({
  topic,
  key,
  value: null,
  headers: { ce_id: id },
});

const ids = (stages: Stages): readonly (readonly string[])[] =>
  stages.map((records) => records.map(({ headers }) => headers.ce_id ?? ''));

const decided = (id: string, key = 'a'): Stages => [
  [record(DECISIONS, key, `d${id}`)],
  [record(COMMANDS, key, `c${id}`)],
];

test('messages of one slice share a publish for each stage', () => {
  const noCommand: Stages = [[record(DECISIONS, 'b', 'd2')]];
  expect(ids(mergeStages([decided('1'), noCommand, decided('3')]))).toEqual([
    ['d1', 'd2', 'd3'],
    ['c1', 'c3'],
  ]);
});

test('messages without outputs publish nothing', () => {
  expect(mergeStages([])).toEqual([]);
  expect(mergeStages([[], [[]], [[], []]])).toEqual([]);
});

test('a record does not overtake an earlier one of its topic and key', () => {
  const late: Stages = [[], [record(DECISIONS, 'a', 'late')]];
  const early: Stages = [[record(DECISIONS, 'a', 'early')]];
  expect(ids(mergeStages([late, early]))).toEqual([['late'], ['early']]);
  expect(ids(mergeStages([early, late]))).toEqual([['early'], ['late']]);
});

test('what went out with the last publish holds up nothing any more', () => {
  const late: Stages = [[], [record(DECISIONS, 'a', 'a1'), record(DECISIONS, 'b', 'b1')]];
  const early = (key: string): Stages => [[record(DECISIONS, key, `${key}0`)]];
  expect(ids(mergeStages([late, early('a'), early('b')]))).toEqual([
    ['a1', 'b1'],
    ['a0', 'b0'],
  ]);
});

test('other keys and other topics do not hold it up', () => {
  const late: Stages = [[], [record(DECISIONS, 'a', 'late')]];
  const other: Stages = [[record(DECISIONS, 'b', 'other'), record(COMMANDS, 'a', 'command')]];
  expect(ids(mergeStages([late, other]))).toEqual([['other', 'command'], ['late']]);
});

const place = fc.record({ topic: fc.constantFrom(DECISIONS, COMMANDS), key: fc.constantFrom('a', 'b') });
const message = fc.array(fc.array(place, { maxLength: 3 }), { maxLength: 3 });
/** Messages whose records are numbered in the order in which they must stay. */
const messages = fc
  .array(message, { maxLength: 6 })
  .map((all) =>
    all.map((stages, m) =>
      stages.map((places, s) => places.map(({ topic, key }, n) => record(topic, key, `${m}.${s}.${n}`))),
    ),
  );

test('nothing is lost, and records of one topic and key keep their order, whatever the messages', () => {
  const byPlace = (records: readonly OutgoingRecord[]) =>
    Object.groupBy(records, ({ topic, key }) => `${topic} ${key}`);
  fc.assert(
    fc.property(messages, (all) => {
      expect(byPlace(mergeStages(all).flat())).toEqual(byPlace(all.flat(2)));
    }),
  );
});

test('a later stage of a message never goes out with or before an earlier one', () => {
  fc.assert(
    fc.property(messages, (all) => {
      const publishes = mergeStages(all);
      const publishOf = (each: OutgoingRecord) => publishes.findIndex((records) => records.includes(each));
      for (const stages of all) {
        const spans = stages.filter((records) => records.length > 0).map((records) => records.map(publishOf));
        spans.slice(1).forEach((later, index) => {
          expect(Math.min(...later)).toBeGreaterThan(Math.max(...(spans[index] ?? [])));
        });
      }
    }),
  );
});
