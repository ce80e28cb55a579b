import pino from 'pino';
import { describe, expect, test } from 'vitest';
import {
  type SimulationEnd,
  type SimulationProgress,
  Simulations,
  type SimulationTask,
  type SimulationThread,
} from '../../../services/dashboard/simulation/simulations.ts';

const TASK: SimulationTask = {
  source: { kind: 'archive', place: 'none' },
  range: { fromMs: 0, toMs: 1 },
  regretWindowMs: 1,
  policy: [],
  against: [],
};

/** Threads that end when a test says so, or when they are stopped. */
function threads() {
  const started: {
    readonly end: (end: SimulationEnd) => void;
    readonly tell: (progress: SimulationProgress) => void;
  }[] = [];
  const start = (_: SimulationTask, tell: (progress: SimulationProgress) => void): SimulationThread => {
    const { promise, resolve } = Promise.withResolvers<SimulationEnd>();
    started.push({ end: resolve, tell });
    return { ended: promise, stop: () => resolve({ kind: 'failed', problem: 'stopped' }) };
  };
  return { started, start };
}

function setUp() {
  const { started, start } = threads();
  let made = 0;
  const simulations = new Simulations({
    start,
    newId: () => {
      made += 1;
      return `s${made}`;
    },
    now: () => made,
    logger: pino({ level: 'silent' }),
  });
  const ask = () => simulations.ask({ by: 'ann', days: 1, names: ['web'], task: TASK });
  const states = () => simulations.told().simulations.map(({ id, state }) => `${id} ${state}`);
  return { simulations, started, ask, states };
}

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
};

describe('simulations', () => {
  test('go one after the other, in the order in which they were asked for', async () => {
    const { started, ask, states } = setUp();
    ask();
    ask();
    expect(states()).toEqual(['s2 waiting', 's1 running']);
    expect(started).toHaveLength(1);
    started[0]?.end({ kind: 'failed', problem: 'nothing is there' });
    await settled();
    expect(states()).toEqual(['s2 running', 's1 failed']);
  });

  test('beyond a few that wait none is taken', () => {
    const { ask, states } = setUp();
    for (let count = 0; count < 5; count += 1) expect(ask()).not.toBeNull();
    expect(ask()).toBeNull();
    expect(states()).toHaveLength(5);
  });

  test('can be cancelled while they wait and while they run, and then the next begins', async () => {
    const { simulations, started, ask, states } = setUp();
    for (let count = 0; count < 3; count += 1) ask();
    expect(simulations.cancel('s2')).toBe(true);
    expect(simulations.cancel('s1')).toBe(true);
    await settled();
    expect(states()).toEqual(['s3 running', 's2 cancelled', 's1 cancelled']);
    expect(started).toHaveLength(2);
    expect(simulations.cancel('s1')).toBe(false);
    expect(simulations.cancel('none')).toBe(false);
  });

  test('are told anew when something has changed, and only then', async () => {
    const { simulations, started, ask } = setUp();
    expect(simulations.takeChanged()).toBe(false);
    ask();
    expect(simulations.takeChanged()).toBe(true);
    expect(simulations.takeChanged()).toBe(false);
    started[0]?.tell({ done: 1, of: 48, records: 7 });
    expect(simulations.takeChanged()).toBe(true);
    expect(simulations.find('s1')).toMatchObject({ progress: { records: 7 }, outcome: null });
  });

  test('are forgotten when many newer ones are done', async () => {
    const { simulations, started, ask } = setUp();
    for (let count = 0; count < 40; count += 1) {
      ask();
      started.at(-1)?.end({ kind: 'failed', problem: '' });
      await settled();
    }
    expect(simulations.told().simulations.length).toBeLessThanOrEqual(15);
    expect(simulations.find('s1')).toBeNull();
  });

  test('stay while they are under way, however many newer ones end', async () => {
    const { simulations, started, ask, states } = setUp();
    ask();
    ask();
    for (let count = 3; count < 40; count += 1) {
      ask();
      expect(simulations.cancel(`s${count}`)).toBe(true);
    }
    expect(states().slice(-2)).toEqual(['s2 waiting', 's1 running']);
    expect(states().length).toBeLessThanOrEqual(15);
    started[0]?.end({ kind: 'failed', problem: 'nothing is there' });
    await settled();
    expect(simulations.find('s1')).toMatchObject({ state: 'failed' });
    expect(simulations.find('s2')).toMatchObject({ state: 'running' });
  });

  test('end with the process', async () => {
    const { simulations, started, ask } = setUp();
    ask();
    ask();
    await simulations[Symbol.asyncDispose]();
    await settled();
    expect(started).toHaveLength(1);
  });
});
