import { describe, expect, test } from 'vitest';
import { placeOf } from '../../../../packages/audit/events/log-position.ts';
import { type Decided, DecidedOutputs } from '../../../../packages/audit/verify/outputs.ts';
import type { Executed } from '../../../../packages/audit/verify/reclaims.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import { clusterCommand } from '../../../fixtures/cluster.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { NODE } from '../../../fixtures/inventory.ts';
import { pressureUnrelieved } from '../../../fixtures/results.ts';
import { MINUTE, NOW, SECOND } from '../../../fixtures/time.ts';
import { ALL, AT_END, at, findings, headOf, midway } from './support.ts';

const command = imageRemoval(['a', 'b'], { id: 'command' });

function check(coverage = ALL.coverage, executed: Executed | null = null) {
  const found = findings();
  const outputs = new DecidedOutputs(found.collector, { ...ALL, coverage }, ({ type }) => {
    if (!type.startsWith('fleetgc.node.')) throw new Error('executors tell of reclaims alone');
    return executed;
  });
  return { ...found, outputs };
}

const decided = (over: Partial<Decided> = {}): Decided => ({
  id: 'command',
  content: command,
  topicId: 'commands',
  decision: placeOf(at('decisions', 5)),
  node: `${NODE.cluster}/${NODE.node}`,
  decider: 'image-gc',
  removable: new Set(['image a', 'image b']),
  removals: null,
  ...over,
});
const sent = (event: Command = command, offset = 9, afterMs = SECOND) => ({
  event,
  value: event,
  record: at('commands', offset, afterMs),
});
describe('a command that was decided', () => {
  test('is compared with what was decided, whichever comes first', () => {
    for (const comesFirst of [true, false]) {
      const { outputs, deviations } = check();
      const changed = { ...command, lifetimeMs: 1 };
      if (comesFirst) outputs.sent(sent(changed));
      outputs.decided(decided());
      if (!comesFirst) outputs.sent(sent(changed));
      outputs.judge(AT_END);
      expect(deviations()).toEqual(['output-differs 9,5']);
    }
  });

  test('names no object that its decision keeps, also where nobody can decide again', () => {
    for (const over of [
      { removable: new Set(['image a']), content: null },
      { removable: null, removals: new Map([['image', 1]]), content: null },
    ]) {
      const { outputs, deviations } = check();
      outputs.decided(decided(over));
      outputs.sent(sent());
      expect(deviations()).toEqual(['kept-object 9,5']);
    }
  });

  test('may name as many as its decision removes', () => {
    const { outputs, deviations } = check();
    outputs.decided(decided({ removable: null, removals: new Map([['image', 2]]), content: null }));
    outputs.sent(sent());
    outputs.judge(AT_END);
    expect(deviations()).toEqual([]);
  });

  test('and sent once, is what both of two equal decisions gave', () => {
    const { outputs, deviations, counts } = check();
    outputs.decided(decided());
    outputs.sent(sent());
    outputs.decided(decided({ decision: placeOf(at('decisions', 6)) }));
    for (const afterMs of [2 * MINUTE, 4 * MINUTE])
      outputs.recorded(headOf('image-gc', 7), at('decisions', 7, afterMs));
    outputs.judge(AT_END);
    expect([...deviations(), counts.open]).toEqual([0]);
  });

  test('and sent is remembered when others were sent since: a decision that comes again misses nothing', () => {
    const { outputs, deviations, counts } = check();
    const other = imageRemoval(['c'], { id: 'other' });
    outputs.decided(decided());
    outputs.sent(sent());
    outputs.decided(decided({ id: 'other', content: other, removable: new Set(['image c']) }));
    outputs.sent(sent(other, 10));
    outputs.decided(decided({ decision: placeOf(at('decisions', 7)) }));
    for (const afterMs of [2 * MINUTE, 4 * MINUTE])
      outputs.recorded(headOf('image-gc', 8), at('decisions', 8, afterMs));
    outputs.judge(AT_END);
    expect([...deviations(), counts.open]).toEqual([0]);
  });

  test('that is not there may still come, until its decider has gone on for more than a minute', () => {
    for (const { wentOn, expected, open } of [
      { wentOn: [2 * MINUTE], expected: [], open: 1 },
      { wentOn: [2 * MINUTE, 3 * MINUTE], expected: [], open: 1 },
      { wentOn: [2 * MINUTE, 3 * MINUTE + 1], expected: ['output-missing 5'], open: 0 },
    ]) {
      const { outputs, deviations, counts } = check();
      outputs.decided(decided());
      for (const [index, afterMs] of wentOn.entries())
        outputs.recorded(headOf('image-gc', 7), at('decisions', 6 + index, afterMs));
      outputs.judge(AT_END);
      expect(deviations()).toEqual(expected);
      expect(counts.open).toBe(open);
    }
  });

  test('is looked for anew where its decider went on exactly a minute after it', () => {
    const { outputs, deviations, counts } = check();
    outputs.decided(decided());
    for (const [index, afterMs] of [MINUTE, 2 * MINUTE + 1].entries())
      outputs.recorded(headOf('image-gc', 7), at('decisions', 6 + index, afterMs));
    outputs.judge(AT_END);
    expect([...deviations(), counts.open]).toEqual([1]);
  });

  test('is judged only once the log has come past its decision', () => {
    const { outputs, deviations } = check();
    outputs.decided(decided());
    for (const [index, afterMs] of [2 * MINUTE, 4 * MINUTE].entries())
      outputs.recorded(headOf('image-gc', 7), at('decisions', 6 + index, afterMs));
    outputs.judge(midway(0));
    expect(deviations()).toEqual([]);
    outputs.judge(midway(1));
    expect(deviations()).toEqual(['output-missing 5']);
  });

  test('is not missed because another decider went on', () => {
    const { outputs, deviations } = check();
    outputs.decided(decided());
    outputs.recorded(headOf('container-gc', 7), at('decisions', 6, 2 * MINUTE));
    outputs.recorded(headOf('image-gc', 7), at('decisions', 7, 4 * MINUTE));
    outputs.judge(AT_END);
    expect(deviations()).toEqual([]);
  });

  test('is waited for anew when its decider came back and decided the same once more', () => {
    const { outputs, deviations, counts } = check();
    outputs.decided(decided());
    outputs.recorded(headOf('image-gc', 7), at('decisions', 6, 2 * MINUTE));
    outputs.recorded(headOf('image-gc', 4, { outputIds: ['command'] }), at('decisions', 7, 3 * MINUTE));
    outputs.recorded(headOf('image-gc', 8), at('decisions', 8, 3 * MINUTE + SECOND));
    outputs.judge(AT_END);
    expect(deviations()).toEqual([]);
    expect(counts.open).toBe(1);
  });

  test('may have been deleted where its topic is not kept so long', () => {
    for (const { coveredAfterMs, expected } of [
      { coveredAfterMs: 0, expected: ['output-missing 5'] },
      { coveredAfterMs: 1, expected: [] },
    ]) {
      const { outputs, deviations, counts } = check(() => NOW + coveredAfterMs);
      outputs.decided(decided());
      for (const afterMs of [2 * MINUTE, 4 * MINUTE])
        outputs.recorded(headOf('image-gc', 7), at('decisions', 6, afterMs));
      outputs.judge(AT_END);
      expect(deviations()).toEqual(expected);
      expect(counts.outOfRange).toBe(1 - expected.length);
    }
  });
});

describe('a command that nobody decided', () => {
  test('is told', () => {
    const { outputs, deviations } = check();
    outputs.sent(sent());
    outputs.judge(AT_END);
    expect(deviations()).toEqual(['not-decided 9']);
  });

  test('is out of range only where its decision may lie before what was read', () => {
    for (const { coveredAfterMs, expected } of [
      { coveredAfterMs: SECOND - 10 * MINUTE, expected: ['not-decided 9'] },
      { coveredAfterMs: SECOND - 10 * MINUTE + 1, expected: [] },
    ]) {
      const { outputs, deviations, counts } = check(() => NOW + coveredAfterMs);
      outputs.sent(sent());
      outputs.judge(AT_END);
      expect(deviations()).toEqual(expected);
      expect(counts.outOfRange).toBe(1 - expected.length);
    }
  });

  test('waits for its decision while the log has not come further', () => {
    const { outputs, deviations } = check();
    outputs.sent(sent());
    outputs.judge(midway(SECOND));
    outputs.decided(decided());
    outputs.judge(AT_END);
    expect(deviations()).toEqual([]);
  });
});

describe('a command of a cluster', () => {
  const ofCluster = clusterCommand({ id: 'cluster-command' });
  const decidedForCluster = (over: Partial<Decided> = {}): Decided =>
    decided({
      id: ofCluster.id,
      content: ofCluster,
      topicId: 'clusterCommands',
      decision: placeOf(at('clusterDecisions', 5)),
      decider: 'graph-gc',
      removable: new Set(['delete x of version 7']),
      ...over,
    });
  const sentToCluster = (event = ofCluster) => ({
    event,
    value: event,
    record: at('clusterCommands', 9, SECOND),
  });

  test('is right where it names what was decided', () => {
    const { outputs, deviations } = check();
    outputs.decided(decidedForCluster());
    outputs.sent(sentToCluster());
    outputs.judge(AT_END);
    expect(deviations()).toEqual([]);
  });

  test('names no object, version or action that its decision does not', () => {
    for (const over of [
      { removable: new Set(['delete x of version 6']) },
      { removable: new Set(['keep x of version 7']) },
      { removable: null, removals: new Map([['keep', 1]]) },
      { removable: null, removals: new Map([['delete', 0]]) },
    ]) {
      const { outputs, deviations } = check();
      outputs.decided(decidedForCluster(over));
      outputs.sent(sentToCluster());
      expect(deviations()).toEqual(['kept-object 9,5']);
    }
  });

  test('that nobody decided is told, unless decisions about clusters may have been deleted', () => {
    for (const { gone, outOfRange } of [
      { gone: 'clusterDecisions', outOfRange: 1 },
      { gone: 'decisions', outOfRange: 0 },
    ]) {
      const { outputs, deviations, counts } = check((topicId) =>
        topicId === gone ? NOW : Number.NEGATIVE_INFINITY,
      );
      outputs.sent(sentToCluster());
      outputs.judge(AT_END);
      expect([deviations().length, counts.outOfRange]).toEqual([1 - outOfRange, outOfRange]);
    }
  });

  test('of nodes goes by the decisions about nodes', () => {
    const { outputs, counts } = check((topicId) =>
      topicId === 'decisions' ? NOW : Number.NEGATIVE_INFINITY,
    );
    outputs.sent(sent());
    outputs.judge(AT_END);
    expect(counts.outOfRange).toBe(1);
  });
});

describe('what an executor tells of a reclaim', () => {
  const place = placeOf(at('commands', 3));
  const fact = pressureUnrelieved({ id: 'unrelieved' });
  const told = (executed: Executed | null) => {
    const { outputs, deviations, collector } = check(undefined, executed);
    outputs.sent({ event: fact, value: fact, record: at('results', 9) });
    outputs.judge(AT_END);
    const [first] = collector.found().deviations.first;
    return { deviations: deviations(), message: first?.message, node: first?.node };
  };

  test('is right where it follows from its command', () => {
    expect(told({ command: place, difference: null }).deviations).toEqual([]);
  });

  test('differs from its command, or follows from none', () => {
    expect(told({ command: place, difference: 'holders is 1 and not 2' })).toEqual({
      deviations: ['output-differs 9,3'],
      message: 'it is not what follows from its command: holders is 1 and not 2',
      node: 'prod/web-1',
    });
    expect(told(null).deviations).toEqual(['not-decided 9']);
  });
});
