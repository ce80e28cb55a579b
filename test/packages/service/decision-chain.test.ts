import pino from 'pino';
import { expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { LogPosition, OutgoingRecord } from '../../../packages/log/port.ts';
import { createPublisher } from '../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { DecisionChain, HEAD_EVERY_MS, type HeadSources } from '../../../packages/service/decision-chain.ts';
import { DecisionHead } from '../../../schemas/events/head.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { decision } from '../../fixtures/outputs.ts';
import { NOW } from '../../fixtures/time.ts';
import { countedIds, outgoing } from '../../support/logs/log-record.ts';
import { madeUpPositions } from '../../support/logs/made-up-positions.ts';

/** A replica that writes to a log in memory, and time that goes by when the test says so. */
function scene(over: Partial<HeadSources> = {}) {
  const heads: DecisionHead[] = [];
  const waiting: { readonly ms: number; readonly pass: () => void }[] = [];
  let isAway = false;
  let isLost = false;
  const publish = async (records: readonly OutgoingRecord[]): Promise<readonly LogPosition[]> => {
    const said = records.filter(({ topic }) => topic === TOPICS.heads.name);
    if (said.length > 0 && isAway) throw new Error('the broker is away');
    if (said.length === 0 && isLost) throw new Error('nobody knows whether it is there');
    heads.push(...said.map(({ value }) => DecisionHead.parse(JSON.parse(String(value)))));
    return madeUpPositions(records);
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
    heads: { newId: () => 'a', statements: () => new Map(), problem: () => null, wait, ...over },
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
    isLost: (yes: boolean): void => {
      isLost = yes;
    },
  };
}

const knownKeys = (count: number): Map<string, number> =>
  new Map(Array.from({ length: count }, (_, index) => [String(index).padStart(32, '0'), NOW + index]));

const saidIn = (heads: readonly DecisionHead[]): Record<string, number> =>
  Object.assign({}, ...heads.map(({ statements }) => statements));

test('with very many keys each head fits, and together they name all', async () => {
  const known = knownKeys(5_000);
  const { chain, heads, pass } = scene({ statements: () => known });
  await chain.publish([decided()]);
  await pass();
  expect(heads.length).toBeGreaterThan(1);
  expect(saidIn(heads)).toEqual(Object.fromEntries(known));
  for (const head of heads) expect(JSON.stringify(head).length).toBeLessThan(TOPICS.heads.bounds.bytes / 4);
});

test('a statement is named once, and again when it has changed', async () => {
  const known = knownKeys(3);
  const { chain, heads, pass, isAway } = scene({ statements: () => known });
  const next = async (): Promise<void> => {
    await chain.publish([decided()]);
    await pass();
  };
  isAway(true);
  await next();
  isAway(false);
  await pass();
  expect(heads.map(({ statements }) => Object.keys(statements).length)).toEqual([3]);
  await next();
  const [name = ''] = known.keys();
  known.set(name, NOW + 1_000);
  await next();
  expect(heads.slice(1).map(({ statements }) => statements)).toEqual([{}, { [name]: NOW + 1_000 }]);
});

test('while nobody would believe a head none is signed, and the next one names all', async () => {
  let problem: string | null = 'its key was revoked';
  const { chain, heads, pass } = scene({ problem: () => problem });
  for (const _ of [1, 2, 3]) {
    await chain.publish([decided()]);
    await pass();
  }
  expect(heads).toEqual([]);
  problem = null;
  await pass();
  expect(heads.map(numbersIn)).toEqual([[3]]);
});

test('what waits for a head that cannot be published does not grow with time', async () => {
  const { chain, heads, pass, isAway } = scene();
  isAway(true);
  for (let hour = 0; hour < 100; hour += 1) {
    await chain.publish(['web-1', 'web-2', 'web-3'].map(decided));
    await pass();
  }
  isAway(false);
  await pass();
  const ranges = heads.flatMap((head) => head.ranges);
  expect(ranges.reduce((sum, { records }) => sum + records, 0)).toBe(300);
  expect(ranges.length).toBeLessThan(10);
});

test('what may not have come onto the log is named by no head, and splits what was written around it', async () => {
  const { chain, heads, pass, isLost } = scene();
  const write = () => chain.publish([decided()]);
  await write();
  isLost(true);
  await expect(write()).rejects.toThrow('nobody knows');
  isLost(false);
  await write();
  await write();
  await pass();
  const named = heads.flatMap(({ ranges }) => ranges.map(({ first, records }) => [first, records]));
  expect(named).toEqual([
    [0, 1],
    [2, 2],
  ]);
});

test('of very many pieces that wait for a head the newest are named', async () => {
  const { chain, heads, pass, isAway, isLost } = scene();
  const pieces = 5_000;
  isAway(true);
  for (let piece = 0; piece < pieces; piece += 1) {
    await chain.publish([decided()]);
    isLost(true);
    await chain.publish([decided()]).catch(() => undefined);
    isLost(false);
  }
  isAway(false);
  await pass();
  const named = heads.flatMap(({ ranges }) => ranges.map(({ first }) => first));
  expect(named.length).toBeLessThan(pieces);
  expect(named.at(-1)).toBe(2 * (pieces - 1));
});

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
