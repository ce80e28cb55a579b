import { describe, expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import {
  exceededBound,
  MAX_MEMBERS,
  MAX_UNUSUAL_MEMBERS,
  USUAL_NAMES,
} from '../../../packages/records/parse/json-bounds.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import { CompleteInventory, MAX_INVENTORY_OBJECTS } from '../../../schemas/events/inventory.ts';
import { Policy } from '../../../schemas/policy/policy.ts';
import { container, image, inventory } from '../../fixtures/inventory.ts';
import { policy, threshold } from '../../fixtures/policy.ts';
import { recordOf } from '../../support/logs/log-record.ts';

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const objectWith = (members: number): string =>
  `{${many(members, (index) => `"n${index}":{"x":":"}`).join(',')}}`;

test('one object has no more names than a parser reads quickly, whatever lies in it', () => {
  const bounds = { depth: 16, elements: 1_000_000 };
  expect(exceededBound(objectWith(MAX_MEMBERS), bounds)).toBe(null);
  expect(exceededBound(objectWith(MAX_MEMBERS + 1), bounds)).toBe('members');
  expect(exceededBound(`[${many(3, () => objectWith(MAX_MEMBERS - 1)).join(',')}]`, bounds)).toBe(null);
  expect(exceededBound(`{"a":"${':'.repeat(2 * MAX_MEMBERS)}"}`, bounds)).toBe(null);
});

test('of members with unusual names there are only so many, in however many objects they are', () => {
  const bounds = { depth: 16, elements: 1_000_000 };
  const objectsWith = (members: number): string =>
    JSON.stringify(
      many(Math.ceil(members / 10), (at) =>
        Object.fromEntries(many(Math.min(10, members - 10 * at), (index) => [`n${10 * at + index}`, 0])),
      ),
    );
  expect(exceededBound(objectsWith(USUAL_NAMES + MAX_UNUSUAL_MEMBERS), bounds)).toBe(null);
  expect(exceededBound(objectsWith(USUAL_NAMES + MAX_UNUSUAL_MEMBERS + 1), bounds)).toBe('names');
  const alike = JSON.stringify(many(300_000, (at) => ({ [`n${at % USUAL_NAMES}`]: 0 })));
  expect(exceededBound(alike, bounds)).toBe(null);
});

test('an inventory whose images have labels of a hundred thousand names between them is no event, and says why', () => {
  const images = many(204, (at) =>
    image(`i${at}`, { labels: Object.fromEntries(many(500, (index) => [`l${500 * at + index}`, ''])) }),
  );
  expect(parseRecord('inventory', recordOf(nodeOutput('inventory', inventory({ images }))))).toMatchObject({
    ok: false,
    rejection: {
      cause: 'too-large',
      message: expect.stringContaining('with other names than the first 1000'),
    },
  });
});

test('an inventory with an image of a million labels is no event, and says why', () => {
  const labels = Object.fromEntries(many(MAX_MEMBERS + 1, (index) => [`l${index}`, 'x']));
  const parsed = parseRecord(
    'inventory',
    recordOf(nodeOutput('inventory', inventory({ images: [image('a', { labels })] }))),
  );
  expect(parsed).toMatchObject({
    ok: false,
    rejection: { cause: 'too-large', message: expect.stringContaining('members of one object') },
  });
});

describe('no list of an inventory is longer than an agent writes it:', () => {
  const taken = (over: Partial<CompleteInventory>): boolean =>
    CompleteInventory.safeParse(inventory(over)).success;
  const few = MAX_INVENTORY_OBJECTS;
  test.each([
    { list: 'images', of: (count: number) => ({ images: many(count, () => image('i')) }) },
    { list: 'containers', of: (count: number) => ({ containers: many(count, () => container('c')) }) },
    { list: 'died', of: (count: number) => ({ diedContainerIds: many(count, () => 'c') }) },
  ])('$list', ({ of }) => {
    expect([taken(of(few)), taken(of(few + 1))]).toEqual([true, false]);
  });
});

test('a policy has as many thresholds as there are signals, and some more', () => {
  const thresholds = (count: number) =>
    policy({ evictionThresholds: many(count, () => threshold('imagefs.available', 5)) });
  expect([Policy.safeParse(thresholds(32)).success, Policy.safeParse(thresholds(33)).success]).toEqual([
    true,
    false,
  ]);
});
