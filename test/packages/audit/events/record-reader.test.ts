import { describe, expect, test } from 'vitest';
import { takeByTopic } from '../../../../packages/audit/events/reading.ts';
import { EventReader, RecordReader } from '../../../../packages/audit/events/record-reader.ts';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { distrustOf, TRUST_OFF, type Trust } from '../../../../packages/records/trust/trust.ts';
import type { TopicId } from '../../../../schemas/events/topics.ts';
import { inventory } from '../../../fixtures/inventory.ts';
import { pressureUnrelieved } from '../../../fixtures/results.ts';
import { recordOf } from '../../../support/logs/log-record.ts';
import { decisionOn, look } from '../verify/decision-support.ts';

function reader(trust: Trust = TRUST_OFF) {
  const told: string[] = [];
  const read = new RecordReader(
    {
      onJson: ({ offset }) => void told.push(`${offset} is JSON`),
      onRefused: (topicId, { offset }, { cause }) =>
        void told.push(`${offset} refused on ${topicId}: ${cause}`),
    },
    trust,
  );
  return { read, told };
}

const unrelieved = recordOf(nodeOutput('decisions', pressureUnrelieved()));

describe('a record', () => {
  test('that is an event of its topic is read, with what its bytes say', () => {
    const { read, told } = reader();
    const said = { ...inventory({ id: 'look-1' }), written: 'by a newer release' };
    const record = { ...look(1), value: Buffer.from(JSON.stringify(said)) };
    const found = read.read('inventory', record);
    expect(found).toMatchObject({ event: { id: 'look-1' }, value: said, record });
    expect(found?.event).not.toHaveProperty('written');
    expect(told).toEqual(['1 is JSON']);
  });

  test.each<{ name: string; record: LogRecord; expected: readonly string[] }>([
    {
      name: 'is no JSON',
      record: { ...look(1), value: Buffer.from('{') },
      expected: ['1 refused on inventory: not-json'],
    },
    {
      name: 'is no event',
      record: { ...look(1), value: Buffer.from('{}') },
      expected: ['1 is JSON', '1 refused on inventory: wrong-schema'],
    },
    {
      name: 'has the key of another node',
      record: { ...look(1), key: 'prod/web-2' },
      expected: ['1 is JSON', '1 refused on inventory: key-mismatch'],
    },
  ])('that $name is refused', ({ record, expected }) => {
    const { read, told } = reader();
    expect(read.read('inventory', record)).toBeNull();
    expect(told).toEqual(expected);
  });

  test('of somebody who may not speak there is refused before it is parsed', () => {
    const { read, told } = reader({
      ...TRUST_OFF,
      authenticate: () => ({ ok: false, distrust: distrustOf('unsigned', 'not signed') }),
    });
    expect([read.read('inventory', look(1)), read.onDecisions(unrelieved)]).toEqual([null, null]);
    expect(told).toEqual(['1 refused on inventory: unsigned', '0 refused on decisions: unsigned']);
  });
});

describe('on the topic of decisions', () => {
  test('the fact that a reclaim ended is read, with what its bytes say', () => {
    const { read } = reader();
    const value: unknown = JSON.parse(String(unrelieved.value));
    expect(read.onDecisions(unrelieved)).toMatchObject({ kind: 'unrelieved', value });
  });

  test('a decision is read as far as anybody needs it, and is about the subject of the topic', () => {
    const { head } = decisionOn(look(1));
    const value = { type: 'fleetgc.node.decision', version: 1, ...head };
    const record = { ...unrelieved, value: Buffer.from(JSON.stringify(value)), headers: { ce_id: head.id } };
    const { read, told } = reader();
    expect(read.onDecisions(record)).toMatchObject({
      kind: 'decision',
      decision: { head, value, subject: { kind: 'node', key: record.key } },
    });
    expect(read.onDecisions({ ...record, key: 'prod/web-2' })).toBeNull();
    expect(told).toContain('0 refused on decisions: wrong-schema');
  });
});

test('whoever counts is given events, and how many records were none', () => {
  const events = new EventReader();
  const other = { ...look(2), value: Buffer.from('{}') };
  expect(events.newEvent('inventory', look(1))).toMatchObject({ id: 'look-1' });
  expect([events.newEvent('inventory', look(1)), events.event('inventory', other)]).toEqual([null, null]);
  expect(events.onDecisions({ ...unrelieved, value: null })).toBeNull();
  expect(events.unreadable).toBe(2);
});

test('a record goes to whoever takes its topic', () => {
  const takers = { inventory: () => 'an inventory', results: () => 'a result' };
  const taken = (topicId: TopicId) => takeByTopic(takers, { topicId, record: look(1) });
  expect([taken('inventory'), taken('results'), taken('commands')]).toEqual([
    'an inventory',
    'a result',
    undefined,
  ]);
});
