import { describe, expect, test } from 'vitest';
import type { FrozenDecider } from '../../../../packages/audit/deciders/deciders.ts';
import { judgeOvertaken } from '../../../../packages/audit/verify/decisions.ts';
import { Inputs } from '../../../../packages/audit/verify/inputs.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import type { MessageReference } from '../../../../schemas/events/decision-parts.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { image, NODE } from '../../../fixtures/inventory.ts';
import { logOf } from '../support/archives.ts';
import { decider, decisionOn, look, RECORD, written } from './decision-support.ts';

const running = new AbortController().signal;
const OLDER = look(1);
const NEWER = look(3, { images: [image('a')] });

const newerAt = (offset: number | string, over: Partial<MessageReference> = {}): MessageReference => ({
  topic: TOPICS.inventory.name,
  partition: 0,
  offset: `${offset}`,
  id: `look-${offset}`,
  ...over,
});

interface Given {
  readonly by?: MessageReference | undefined;
  readonly messages?: readonly LogRecord[];
  readonly rule?: Partial<FrozenDecider>;
  readonly older?: LogRecord;
  readonly value?: unknown;
}

/** Judges a record that says that the older one was overtaken by the newer one. */
async function judged(given: Given) {
  const { messages = [OLDER, NEWER], rule, older = OLDER, value = RECORD } = given;
  const overtakenBy = 'by' in given ? given.by : newerAt(3);
  const decision = decisionOn(older, { outcome: 'overtaken', overtakenBy }, value);
  const { topic, partition, offset } = older;
  const position = { topic, partition, offset: String(offset), sha256: decision.head.input.sha256 };
  const inputs = new Inputs(logOf(messages), 0, { signal: running });
  return await judgeOvertaken(decision, { input: older, position }, { inputs, decider: decider(rule) });
}

const wrongly = (why: string, newer: string | null = null) => ({
  kind: 'wrongly-overtaken',
  message: expect.stringContaining(why),
  newer: newer === null ? null : expect.objectContaining({ offset: newer }),
});

test('a message is rightly overtaken where its decider makes the same record of both', async () => {
  const asked: object[] = [];
  const passOver: FrozenDecider['passOver'] = (said) => {
    asked.push(said);
    return written(RECORD);
  };
  expect(await judged({ rule: { passOver } })).toEqual({ kind: 'right' });
  expect(asked).toMatchObject([
    {
      older: { id: 'look-1' },
      newer: { id: 'look-3', ...NODE },
      overtakenBy: newerAt(3),
      position: { offset: '1' },
    },
  ]);
  // Lists are long, and play no part in it.
  expect(asked).not.toMatchObject([{ newer: { images: expect.anything() } }]);
});

test('it is not where the newer one does not make it needless by the rule of its decider', async () => {
  expect(await judged({ rule: { passOver: () => null } })).toEqual(wrongly('does not make it needless', '3'));
});

test('a record that is not as such are was decided differently', async () => {
  expect(await judged({ value: { ...RECORD, reason: 'another' } })).toMatchObject({
    kind: 'decided-differently',
    message: expect.stringContaining('reason'),
  });
});

describe('a message is wrongly overtaken', () => {
  test.each<{ name: string; by: MessageReference | undefined; why: string }>([
    { name: 'by nothing', by: undefined, why: 'does not say by what' },
    { name: 'by itself', by: newerAt(1), why: 'does not lie after it' },
    { name: 'by an older one', by: newerAt(0), why: 'does not lie after it' },
    { name: 'by one of another partition', by: newerAt(3, { partition: 1 }), why: 'does not lie after it' },
    {
      name: 'by one of another topic',
      by: newerAt(3, { topic: TOPICS.diskStats.name }),
      why: 'does not lie after it',
    },
    { name: 'by one at no offset', by: newerAt('3x'), why: 'does not lie after it' },
    { name: 'by one behind the end', by: newerAt(4), why: 'is not on the log' },
  ])('$name', async ({ by, why }) => {
    expect(await judged({ by })).toEqual(wrongly(why));
  });

  test('by one of another id', async () => {
    expect(await judged({ by: newerAt(3, { id: 'look-2' }) })).toEqual(
      wrongly('lies look-3, not look-2', '3'),
    );
  });

  test.each<{ name: string; newer: LogRecord }>([
    { name: 'is no inventory', newer: { ...NEWER, value: Buffer.from('{}') } },
    { name: 'has the key of another node', newer: { ...NEWER, key: 'prod/web-2' } },
  ])('by what $name', async ({ newer }) => {
    expect(await judged({ messages: [OLDER, newer] })).toEqual(
      wrongly('nothing that can be decided on', '3'),
    );
  });

  test('where its decider passes over no such message', async () => {
    expect(await judged({ rule: { name: 'pressure' } })).toEqual(wrongly('passes over no such message'));
    expect(await judged({ older: { ...OLDER, value: Buffer.from('{}') } })).toEqual(
      wrongly('passes over no such message'),
    );
  });
});

test('where the newer one was deleted from the middle nobody can tell', async () => {
  expect(await judged({ messages: [OLDER, look(5)] })).toMatchObject({ kind: 'gone' });
});

test('a newer one that overtakes many is read once, however large others are in between', async () => {
  const images = Array.from({ length: 400 }, (_, number) => image(`image-${number}`));
  const newer = [3, 4, 5].map((offset) => look(offset, { images }));
  const inputs = new Inputs(logOf([OLDER, ...newer]), 0, { signal: running });
  let reads = 0;
  const read = (message: unknown): unknown => {
    reads++;
    return message;
  };
  const { topic, partition, offset } = OLDER;
  const passedOver = { input: OLDER, position: { topic, partition, offset: String(offset), sha256: '' } };
  for (const by of [3, 4, 5, 3, 4, 5]) {
    const decision = decisionOn(OLDER, { outcome: 'overtaken', overtakenBy: newerAt(by) });
    const judgement = await judgeOvertaken(decision, passedOver, { inputs, decider: decider({ read }) });
    expect(judgement).toEqual({ kind: 'right' });
  }
  expect(reads).toBe(3);
});
