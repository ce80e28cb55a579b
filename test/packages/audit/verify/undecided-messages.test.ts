import { expect, test } from 'vitest';
import { UndecidedMessages } from '../../../../packages/audit/verify/outputs.ts';
import type { DeadLetter } from '../../../../schemas/events/dead-letter.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { NOW } from '../../../fixtures/time.ts';
import { AT_END, at, findings, headOf, midway } from './support.ts';

function check() {
  const found = findings();
  return { ...found, undecided: new UndecidedMessages(found.collector) };
}

const letterOf = (offset: number, suppressedBefore = 0): DeadLetter => ({
  type: 'fleetgc.dead-letter',
  version: 1,
  id: 'letter',
  cause: 'wrong-schema',
  message: 'it is none',
  group: 'fleetgc-image-gc',
  topic: 'gc.node.inventory',
  partition: 0,
  offset: String(offset),
  timestampMs: NOW,
  key: Buffer.from('prod/web-1').toString('base64'),
  value: null,
  headers: {},
  omittedBytes: 0,
  suppressedBefore,
});

test('a message between two that were decided was passed over, by that decider alone', () => {
  const { undecided, deviations } = check();
  for (const offset of [0, 1, 2]) undecided.arrived(at('inventory', offset));
  for (const offset of [0, 2]) undecided.decided(headOf('image-gc', offset));
  for (const offset of [0, 1, 2]) undecided.decided(headOf('container-gc', offset));
  undecided.judge(AT_END);
  expect(deviations()).toEqual(['undecided 1']);
});

test('a message behind the last that was decided may still be', () => {
  const { undecided, deviations, counts } = check();
  for (const offset of [0, 1]) undecided.arrived(at('diskStats', offset));
  undecided.decided(headOf('pressure', 0));
  undecided.judge(AT_END);
  expect(deviations()).toEqual([]);
  expect(counts.open).toBe(1);
});

test('a redelivery decides an older message once more: those behind it are not passed over', () => {
  const { undecided, deviations, counts } = check();
  for (const offset of [0, 1, 2, 3]) undecided.arrived(at('diskStats', offset));
  for (const offset of [0, 1, 2, 0]) undecided.decided(headOf('pressure', offset));
  undecided.judge(AT_END);
  expect(deviations()).toEqual([]);
  expect(counts.open).toBe(1);
});

test('a redelivery does not hide a message that was passed over', () => {
  const { undecided, deviations } = check();
  for (const offset of [0, 1, 2]) undecided.arrived(at('diskStats', offset));
  for (const offset of [0, 2, 0]) undecided.decided(headOf('pressure', offset));
  undecided.judge(AT_END);
  expect(deviations()).toEqual(['undecided 1']);
});

test('a decision that comes by before its message counts', () => {
  const { undecided, deviations } = check();
  for (const offset of [1, 0]) undecided.decided(headOf('pressure', offset));
  for (const offset of [0, 1]) undecided.arrived(at('diskStats', offset));
  undecided.judge(AT_END);
  expect(deviations()).toEqual([]);
});

test('a message with a dead letter was given up by the group of the letter, and by no other', () => {
  const { undecided, deviations, counts } = check();
  for (const offset of [0, 1]) undecided.arrived(at('inventory', offset));
  undecided.givenUp(letterOf(0));
  for (const name of ['image-gc', 'container-gc']) undecided.decided(headOf(name, 1));
  undecided.judge(AT_END);
  expect(deviations()).toEqual(['undecided 0']);
  expect(counts.deadLettered).toBe(1);
});

test('dead letters that were only counted excuse so many messages of their node right before it', () => {
  const { undecided, deviations, counts } = check();
  for (const offset of [0, 1, 2, 3]) undecided.arrived(at('inventory', offset));
  undecided.arrived(at('inventory', 4, 0, { key: 'prod/web-2' }));
  for (const offset of [5, 6]) undecided.arrived(at('inventory', offset));
  undecided.givenUp(letterOf(5, 2));
  undecided.decided(headOf('image-gc', 6));
  undecided.judge(AT_END);
  expect(deviations()).toEqual(['undecided 0', 'undecided 1', 'undecided 4']);
  expect(counts.deadLettered).toBe(3);
});

test('a message is judged once the log has come past it, and told once', () => {
  const { undecided, deviations } = check();
  for (const offset of [0, 1]) undecided.arrived(at('diskStats', offset));
  undecided.decided(headOf('pressure', 1));
  undecided.judge(midway(0));
  expect(deviations()).toEqual([]);
  for (const afterMs of [1, 2]) undecided.judge(midway(afterMs));
  undecided.judge(AT_END);
  expect(deviations()).toEqual(['undecided 0']);
});

test('of decisions whose messages never come, the most are forgotten', () => {
  const { undecided, deviations } = check();
  for (let offset = 0; offset <= 10_000; offset += 1) undecided.decided(headOf('pressure', offset));
  undecided.judge(midway(0));
  for (const offset of [5, 10_000]) undecided.arrived(at('diskStats', offset));
  undecided.judge(AT_END);
  expect(deviations()).toEqual(['undecided 5', 'undecided 10000']);
});

test('a decider that decides on two topics has decided on its own message alone', () => {
  const { undecided, deviations, counts } = check();
  const onResults = (offset: number) => {
    const { input, ...head } = headOf('pressure', offset);
    return { ...head, input: { ...input, topic: TOPICS.results.name } };
  };
  for (const offset of [0, 1, 2]) undecided.arrived(at('diskStats', offset));
  undecided.arrived(at('results', 1));
  undecided.decided(headOf('pressure', 0));
  undecided.decided(onResults(1));
  undecided.decided(headOf('pressure', 2));
  undecided.judge(AT_END);
  expect([...deviations(), counts.open]).toEqual(['undecided 1', 0]);
});

test('what names a decider that nobody knows, or no offset, tells of no message', () => {
  const { undecided, deviations, counts } = check();
  for (const offset of [0, 1]) undecided.arrived(at('inventory', offset));
  const { input, ...head } = headOf('image-gc', 1);
  for (const offset of ['x', '1x', 'x1', '', '9'.repeat(19)]) {
    undecided.decided({ ...head, input: { ...input, offset } });
    undecided.givenUp({ ...letterOf(0), offset });
  }
  undecided.decided(headOf('newer-gc', 1));
  undecided.givenUp({ ...letterOf(0), group: 'fleetgc-newer-gc' });
  undecided.judge(AT_END);
  expect([...deviations(), counts.open, counts.deadLettered]).toEqual([0, 0]);
});
