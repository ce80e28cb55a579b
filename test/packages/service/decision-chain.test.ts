import pino from 'pino';
import { expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { OutgoingRecord } from '../../../packages/event-log/port.ts';
import { createPublisher } from '../../../packages/pipeline/publisher.ts';
import { DecisionChain, HEAD_EVERY_MS, type HeadSources } from '../../../packages/service/decision-chain.ts';
import { UNSIGNED } from '../../../packages/trust/signer.ts';
import { DecisionHead } from '../../../schemas/events/head.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { decision } from '../../fixtures/outputs.ts';
import { NOW } from '../../fixtures/time.ts';
import { countedIds, outgoing } from '../../support/logs/log-record.ts';

/** A replica that writes to a log in memory, and time that goes by when the test says so. */
function scene(over: Partial<HeadSources> = {}) {
  const heads: DecisionHead[] = [];
  const waiting: { readonly ms: number; readonly pass: () => void }[] = [];
  let isAway = false;
  const publish = async (records: readonly OutgoingRecord[]): Promise<void> => {
    const said = records.filter(({ topic }) => topic === TOPICS.heads.name);
    if (said.length > 0 && isAway) throw new Error('the broker is away');
    heads.push(...said.map(({ value }) => DecisionHead.parse(JSON.parse(String(value)))));
  };
  const wait = (ms: number, signal: AbortSignal): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push({ ms, pass: resolve });
    signal.addEventListener('abort', () => resolve());
    return promise;
  };
  const log = { publish };
  const now = () => NOW;
  const chain = new DecisionChain({
    log,
    publisher: createPublisher({ log, source: '/x', now, ids: countedIds(), signer: UNSIGNED }),
    decider: 'image-gc',
    heads: { newId: () => 'a', statements: () => new Map(), wait, ...over },
    logger: pino({ level: 'silent' }),
    now,
  });
  return {
    chain,
    heads,
    waiting,
    /** The time for which it waits goes by, and what follows is done. */
    pass: async (): Promise<void> => {
      waiting.shift()?.pass();
      await new Promise(setImmediate);
    },
    isAway: (yes: boolean): void => {
      isAway = yes;
    },
  };
}

const decided = (node = 'web-1'): OutgoingRecord => outgoing(nodeOutput('decisions', decision({ node })));
const numbersIn = ({ ranges }: DecisionHead): readonly number[] => ranges.map(({ records }) => records);

test('a head comes in time after the first decision, also where nothing follows it', async () => {
  const { chain, heads, waiting, pass } = scene();
  expect(waiting).toEqual([]);
  await chain.publish([decided()]);
  await chain.publish([decided()]);
  expect(waiting).toMatchObject([{ ms: HEAD_EVERY_MS }]);
  await pass();
  expect(heads.map(numbersIn)).toEqual([[2]]);
  expect(waiting).toEqual([]);
  await chain.publish([decided()]);
  expect(waiting).toHaveLength(1);
});

test('a head that could not be published comes later by itself', async () => {
  const { chain, heads, pass, isAway } = scene();
  await chain.publish([decided()]);
  isAway(true);
  await pass();
  isAway(false);
  expect(heads).toEqual([]);
  await pass();
  expect(heads.map(numbersIn)).toEqual([[1]]);
});

test('who ends says what it has written, and no more after that', async () => {
  const { chain, heads, waiting } = scene();
  await chain.publish([decided()]);
  await chain.end();
  expect(heads.map(numbersIn)).toEqual([[1]]);
  await new Promise(setImmediate);
  await chain.publish([decided()]);
  expect(heads).toHaveLength(1);
  expect(waiting).toHaveLength(1);
});
