import { describe, expect, test } from 'vitest';
import { RecordKeeper, RecordsReadAgain } from '../../../../packages/audit/verify/inputs.ts';
import type { LogRecord, ReadEvent, ReadRequest } from '../../../../packages/log/port.ts';
import { TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';
import { HOUR, NOW } from '../../../fixtures/time.ts';
import { at } from './support.ts';

const running = new AbortController().signal;
const { name: INVENTORY } = TOPICS.inventory;
const { name: DISK_STATS } = TOPICS.diskStats;

/** A log with records at these offsets, one an hour, that tells where readings began, and how many of them are open. */
function logWith(offsets: Partial<Record<TopicId, readonly number[]>>, value = Buffer.from('{}')) {
  const began: string[] = [];
  let open = 0;
  const recordsOf = (topic: string): readonly LogRecord[] =>
    Object.entries(offsets).flatMap(([id, all]) =>
      all.flatMap((offset) => {
        const record = at('inventory', offset, offset * HOUR, { topic: TOPICS[idOf(id)].name, value });
        return record.topic === topic ? [record] : [];
      }),
    );
  const read = async function* ({ topic, from }: ReadRequest): AsyncGenerator<ReadEvent, void> {
    began.push(typeof from === 'object' && 'offset' in from ? String(from.offset) : 'elsewhere');
    open++;
    try {
      for (const record of recordsOf(topic)) if (isIn(record, from)) yield { kind: 'record', record };
      yield { kind: 'caught-up' };
    } finally {
      open--;
    }
  };
  return { again: new RecordsReadAgain({ read }, 0, running), began, openReadings: () => open };
}

const idOf = (id: string): TopicId => (id === 'diskStats' ? 'diskStats' : 'inventory');

function isIn({ offset, timestampMs }: LogRecord, from: ReadRequest['from']): boolean {
  if (from === 'earliest') return true;
  return 'offset' in from ? offset >= from.offset : timestampMs >= from.timestampMs;
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, offset) => offset);

describe('a record that is read again', () => {
  test('is found at its offset, on its own topic', async () => {
    const { again } = logWith({ inventory: [4, 5], diskStats: [5, 6] });
    expect(await again.find(INVENTORY, 5n)).toMatchObject({ topic: INVENTORY, offset: 5n });
    expect(await again.find(DISK_STATS, 6n)).toMatchObject({ topic: DISK_STATS, offset: 6n });
    expect(await again.find(INVENTORY, 6n)).toBeNull();
  });

  test('is missing where it was deleted from the middle, and the next one is there without another reading', async () => {
    const { again, began } = logWith({ inventory: [1, 2, 4] });
    expect(await again.find(INVENTORY, 2n)).toMatchObject({ offset: 2n });
    expect(await again.find(INVENTORY, 3n)).toBeNull();
    expect(await again.find(INVENTORY, 4n)).toMatchObject({ offset: 4n });
    expect(began).toEqual(['elsewhere', '2']);
  });

  test('before the oldest one is looked for nowhere', async () => {
    const { again, began } = logWith({ inventory: [3] });
    expect(await again.find(INVENTORY, 2n)).toBeNull();
    expect(began).toEqual(['elsewhere']);
  });

  test('is found though a reading passed it long ago', async () => {
    const { again, began } = logWith({ inventory: [0, 1, 2] }, Buffer.alloc(3 * 1024 * 1024));
    for (const offset of [0n, 1n, 0n]) expect(await again.find(INVENTORY, offset)).toMatchObject({ offset });
    expect(began).toEqual(['elsewhere', '0', '0']);
  });

  test('far ahead is not read up to', async () => {
    const { again, began } = logWith({ inventory: upTo(2_000) });
    await again.find(INVENTORY, 0n);
    await again.find(INVENTORY, 1_900n);
    expect(began).toEqual(['elsewhere', '0', '1900']);
  });
});

describe('readings', () => {
  test('are two at the most: the one that was used longest ago ends', async () => {
    const { again, began, openReadings } = logWith({ inventory: upTo(5_000) });
    for (const offset of [0n, 1_500n, 3_000n]) await again.find(INVENTORY, offset);
    expect(openReadings()).toBe(2);
    await again.find(INVENTORY, 1_501n);
    expect(began).toEqual(['elsewhere', '0', '1500', '3000']);
    await again.find(INVENTORY, 1n);
    await again.find(INVENTORY, 1_502n);
    expect(began.slice(4)).toEqual(['1']);
  });

  test('end when nobody asks any more', async () => {
    const { again, openReadings } = logWith({ inventory: upTo(5_000) });
    for (const offset of [0n, 1_500n]) await again.find(INVENTORY, offset);
    await again.close();
    expect(openReadings()).toBe(0);
  });
});

describe('what else lies there', () => {
  test('behind an offset is known from what was seen, and else looked up', async () => {
    const { again, began } = logWith({ inventory: [1, 2, 3] });
    again.saw(at('inventory', 3));
    expect(await again.hasAfter(INVENTORY, 2n)).toBe(true);
    expect(began).toEqual([]);
    expect(await again.hasAfter(INVENTORY, 3n)).toBe(false);
    expect(await again.hasAfter(DISK_STATS, 0n)).toBe(false);
  });

  test('since a time is told by the clock of the log', async () => {
    const { again } = logWith({ inventory: [1, 2] });
    expect(await again.hasSince(INVENTORY, NOW + 2 * HOUR)).toBe(true);
    expect(await again.hasSince(INVENTORY, NOW + 2 * HOUR + 1)).toBe(false);
  });

  test('the oldest one is looked up once, also where there is none', async () => {
    const { again, began } = logWith({ inventory: [7, 8] });
    for (const _ of [1, 2]) {
      expect(await again.oldest(INVENTORY)).toEqual({ offset: 7n, timestampMs: NOW + 7 * HOUR });
      expect(await again.oldest(DISK_STATS)).toBeNull();
    }
    expect(began).toHaveLength(2);
  });
});

test('the last records that weigh so much are kept, each once', () => {
  const keeper = new RecordKeeper(4);
  for (const offset of [0, 1, 1, 1]) keeper.put(at('inventory', offset));
  expect([0n, 1n].map((offset) => keeper.get(INVENTORY, offset)?.offset)).toEqual([0n, 1n]);
  keeper.put(at('inventory', 2));
  expect([0n, 1n, 2n].map((offset) => keeper.get(INVENTORY, offset)?.offset)).toEqual([undefined, 1n, 2n]);
  keeper.put(at('inventory', 3, 0, { value: Buffer.from('[0,1]') }));
  expect([1n, 2n, 3n].map((offset) => keeper.get(INVENTORY, offset))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
