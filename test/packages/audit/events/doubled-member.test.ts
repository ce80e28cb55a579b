import fc from 'fast-check';
import { expect, test } from 'vitest';
import { doubledMember } from '../../../../packages/audit/events/record-reader.ts';
import { parseRecord } from '../../../../packages/records/parse/parse-record.ts';
import { TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';
import { runs } from '../../../support/property-runs.ts';
import { pickedRecord, replayed, rewritten } from '../support/recorded-log.ts';
import { recordedReclaims } from '../support/recorded-reclaims.ts';
import { named, verify } from '../support/verify-recording.ts';

const doubledIn = (json: string): string | null => doubledMember(Buffer.from(json), JSON.parse(json));

test.each([
  ['{"a":1,"a":2}', 'a'],
  ['{"a":1,"a":1}', 'a'],
  ['{"a" : 1, "b":[{"c":{}},{"d":1,\n"d"\t:2}]}', 'd'],
  ['{"a":{"b":1},"a":{"c":1,"d":1}}', 'a'],
  ['{"\\u0061":1,"a":2}', 'a'],
  ['{"a\\"":":","a\\"":2}', 'a"'],
  ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ['{"a":1,"b":{"a":2}}', null],
  ['[{"a":1},{"a":1}]', null],
  ['{"a":"\\":\\":","b\\\\":":"}', null],
  ['":"', null],
  ['{}', null],
])('%s', (json, doubled) => {
  expect(doubledIn(json)).toBe(doubled);
});

test('in a text however deep and however long', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const long = `[${'{},'.repeat(300_000)}{"a":1,"a":2}]`;
  const large = `{"a":"${'a'.repeat(12_000_000)}","b":"${'\\n'.repeat(9_000_000)}","a":2}`;
  expect([doubledIn(deep), doubledIn(long), doubledIn(large)]).toEqual([null, 'a', 'a']);
});

test('nothing that JSON.stringify writes has a member twice', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(doubledIn(JSON.stringify(value))).toBeNull();
    }),
    runs(300),
  );
});

test('whoever reads a record takes the last of two, so all that read it agree', async () => {
  const record = pickedRecord(await recordedReclaims(), 'commands', () => true);
  const text = (record.value ?? '').toString('utf8').replace('"items":[', '"items":[],"items":[');
  const doubled = { ...record, value: Buffer.from(text) };

  expect(doubledIn(text)).toBe('items');
  expect(parseRecord('commands', doubled)).toEqual(parseRecord('commands', record));
});

test.each(['inventory', 'diskStats', 'observe', 'decisions', 'commands', 'results'] as const)(
  'a member that stands twice in a record of %s is named',
  async (topic: TopicId) => {
    const recording = await recordedReclaims();
    const { offset } = pickedRecord(recording, topic, () => true);
    const forged = rewritten(
      recording,
      topic,
      () => true,
      (text) =>
        text.replace('"takenAt":', '"takenAt":"earlier","takenAt":').replace('"at":', '"at":"earlier","at":'),
    );

    expect(named(await verify(replayed(forged)))).toContain(`doubled-member ${TOPICS[topic].name}@${offset}`);
  },
);
