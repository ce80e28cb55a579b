import pino from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { Refused } from '../../../services/dashboard/api/answer.ts';
import { LogReaders } from '../../../services/dashboard/bounds.ts';
import { LongReadings, type Read, sharingLog } from '../../../services/dashboard/readings.ts';
import { waitUntil } from '../../support/wait-until.ts';

const SECOND = 1_000;

/** Readings that end when the test says so, by a clock of the test's own. */
function readings({ endsWhenAborted = true } = {}) {
  const clock = { nowMs: 0 };
  const began: string[] = [];
  const ended = new Map<string, PromiseWithResolvers<string>>();
  const signals = new Map<string, AbortSignal>();
  const long = new LongReadings<string>({ now: () => clock.nowMs, logger: pino({ level: 'silent' }) });
  onTestFinished(() => long[Symbol.dispose]());
  const read =
    (name: string): Read<string> =>
    (signal, onProgress) => {
      began.push(name);
      signals.set(name, signal);
      onProgress({ done: 1, of: 4, records: 7 });
      const end = Promise.withResolvers<string>();
      ended.set(name, end);
      if (endsWhenAborted)
        signal.addEventListener('abort', () => end.reject(new FleetGcError('INTERRUPTED', 'stopped')));
      return end.promise;
    };
  const ask = (name: string, person = `who asks for ${name}`) => long.ask(name, { person, read: read(name) });
  return { clock, long, began, ended, signals, ask };
}

describe('long readings', () => {
  test('are read one at a time, in the order in which they were asked for, and once for all who ask', async () => {
    const { ask, began, ended } = readings();
    expect(ask('a')).toEqual({ state: 'reading', done: 1, of: 4, records: 7 });
    expect(ask('b')).toEqual({ state: 'waiting', ahead: 1 });
    expect(ask('c')).toEqual({ state: 'waiting', ahead: 2 });
    expect(ask('a')).toMatchObject({ state: 'reading' });
    expect(began).toEqual(['a']);
    ended.get('a')?.resolve('what a was');
    await waitUntil('the next to begin', 1_000, () => began.length === 2);
    expect(began).toEqual(['a', 'b']);
    expect(ask('a')).toEqual({ state: 'read', value: 'what a was', readAtMs: 0 });
  });

  test('are not waited for by more than a few', () => {
    const { ask } = readings();
    const asked = Array.from({ length: 12 }, (_, index) => ask(`question ${index}`));
    expect(asked.filter((each) => each === null)).toHaveLength(3);
    expect(ask('question 0')).not.toBeNull();
  });

  test('are not waited for by one person alone, who may join what others wait for', () => {
    const { ask } = readings();
    expect(['a', 'b', 'c', 'd'].map((name) => ask(name, 'ann')?.state)).toEqual([
      'reading',
      'waiting',
      'waiting',
      undefined,
    ]);
    expect(ask('e', 'bob')).toEqual({ state: 'waiting', ahead: 3 });
    expect(ask('e', 'ann')).toEqual({ state: 'waiting', ahead: 3 });
    expect(ask('d', 'ann')).toBeNull();
  });

  test('that have not begun are gone at once when the last who waits leaves', () => {
    const { ask, long } = readings();
    for (const name of ['a', 'b', 'c']) ask(name, 'ann');
    ask('c', 'bob');
    long.leave('c', 'ann');
    long.leave('b', 'ann');
    expect(ask('d', 'ann')).toEqual({ state: 'waiting', ahead: 2 });
    expect(ask('c', 'bob')).toEqual({ state: 'waiting', ahead: 1 });
  });

  test('count until their work has ended, however often they are left and asked for', async () => {
    const { ask, long, clock, began, signals, ended } = readings({ endsWhenAborted: false });
    for (const name of ['a', 'b', 'c', 'd']) {
      ask(name, 'ann');
      long.leave(name, 'ann');
      clock.nowMs += 10 * SECOND;
      long.endWhatNobodyWaitsFor();
    }
    expect(signals.get('a')?.aborted).toBe(true);
    expect(began).toEqual(['a']);
    expect(ask('e', 'ann')).toEqual({ state: 'waiting', ahead: 1 });
    ended.get('a')?.reject(new FleetGcError('INTERRUPTED', 'stopped'));
    await waitUntil('the next to begin', 1_000, () => began.length === 2);
    expect(began).toEqual(['a', 'e']);
  });

  test('end when nobody asks any more, and let the next begin', async () => {
    const { ask, long, clock, signals, began } = readings();
    ask('a');
    clock.nowMs = 80 * SECOND;
    ask('b');
    long.endWhatNobodyWaitsFor();
    expect(signals.get('a')?.aborted).toBe(false);
    clock.nowMs = 95 * SECOND;
    long.endWhatNobodyWaitsFor();
    expect(signals.get('a')?.aborted).toBe(true);
    await waitUntil('the next to begin', 1_000, () => began.length === 2);
    expect(began).toEqual(['a', 'b']);
  });

  test('end soon after somebody leaves, unless somebody else asks', () => {
    const { ask, long, clock, signals } = readings();
    ask('a');
    long.leave('a', 'who asks for a');
    clock.nowMs = 2 * SECOND;
    ask('a');
    clock.nowMs = 10 * SECOND;
    long.endWhatNobodyWaitsFor();
    expect(signals.get('a')?.aborted).toBe(false);
    long.leave('a', 'who asks for a');
    clock.nowMs = 14 * SECOND;
    long.endWhatNobodyWaitsFor();
    expect(signals.get('a')?.aborted).toBe(true);
  });

  test('tell what failed once, and are read anew when they are asked for again', async () => {
    const { ask, ended, began } = readings();
    ask('a');
    ended.get('a')?.reject(new FleetGcError('LOG_UNREACHABLE', 'no broker answers'));
    await waitUntil('it to fail', 1_000, () => {
      const asked = ask('a');
      return asked?.state === 'failed' && asked.problem === 'no broker answers';
    });
    expect(ask('a')).toMatchObject({ state: 'reading' });
    expect(began).toEqual(['a', 'a']);
  });

  test('tell nobody outside what nobody foresaw', async () => {
    const { ask, ended } = readings();
    ask('a');
    ended.get('a')?.reject(new Error('/secret/path'));
    await waitUntil('it to fail', 1_000, () => {
      const asked = ask('a');
      return asked?.state === 'failed' && !asked.problem.includes('secret');
    });
  });

  test('are kept for a while, and no more than a few', async () => {
    const { ask, ended, long, clock } = readings();
    for (const name of ['a', 'b', 'c', 'd']) {
      ask(name);
      ended.get(name)?.resolve(name);
      await waitUntil(`${name} to be read`, 1_000, () => ask(name)?.state === 'read');
    }
    long.endWhatNobodyWaitsFor();
    expect(['a', 'b', 'c', 'd'].map((name) => long.known(name))).toEqual([null, 'b', 'c', 'd']);
    clock.nowMs = 601 * SECOND;
    long.endWhatNobodyWaitsFor();
    expect(long.known('d')).toBeNull();
  });
});

test('whoever reads a log to its end lets others have their turn', async () => {
  const log = sharingLog({
    async *read() {
      for (let count = 0; count < 1_000_000; count += 1) yield { kind: 'caught-up' };
    },
  });
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  let read = 0;
  for await (const _ of log.read({ topic: 'gc.node.inventory', from: 'earliest', to: 'end' })) {
    read += 1;
    if (turns > 3) break;
  }
  clearInterval(timer);
  expect(read).toBeGreaterThan(0);
  expect(turns).toBeGreaterThan(3);
});

const ENDING = new AbortController().signal;

test('one person cannot have all the places of what is looked up, and has them again when it is done', async () => {
  const readers = new LogReaders(ENDING);
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const ask = (person: string) => readers.read(person, () => held.then(() => person));
  const first = Array.from({ length: 8 }, () => ask('ann'));
  expect(await ask('ann')).toBeInstanceOf(Refused);
  const other = ask('bob');
  letGo();
  expect(await other).toBe('bob');
  expect(await Promise.all(first)).toEqual(first.map(() => 'ann'));
  expect(await ask('ann')).toBe('ann');
});

test('what fails gives its place back', async () => {
  const readers = new LogReaders(ENDING);
  const fail = () => readers.read('ann', () => Promise.reject(new Error('away')));
  for (let asked = 0; asked < 30; asked += 1) await expect(fail()).rejects.toThrow('away');
});
