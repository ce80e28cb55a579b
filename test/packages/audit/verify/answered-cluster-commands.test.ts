import { describe, expect, test } from 'vitest';
import {
  AnsweredClusterCommands,
  type ClusterAnswer,
} from '../../../../packages/audit/verify/cluster-commands.ts';
import { namelessId } from '../../../../packages/audit/verify/commands.ts';
import {
  clusterCommandResultId,
  clusterIntentId,
  clusterObjectResultsId,
  clusterRejectedResultId,
} from '../../../../packages/decision/result-ids.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import type { ClusterCommand } from '../../../../schemas/events/cluster-command.ts';
import type { ClusterCommandIntent } from '../../../../schemas/events/cluster-intent.ts';
import type {
  ClusterCommandResult,
  ClusterObjectOutcome,
  ClusterObjectResults,
} from '../../../../schemas/events/cluster-result.ts';
import {
  CLUSTER,
  clusterCommand,
  clusterCommandIntent,
  clusterCommandResult,
  clusterItem,
  clusterObject,
  clusterObjectResults,
} from '../../../fixtures/cluster.ts';
import { HOUR, MINUTE, NOW, SECOND } from '../../../fixtures/time.ts';
import { ALL, AT_END, at as atNode, findings, midway } from './support.ts';

const LIFETIME_MS = 10 * MINUTE;
const at = (topicId: Parameters<typeof atNode>[0], offset: number, afterMs = 0): LogRecord =>
  atNode(topicId, offset, afterMs, { key: CLUSTER.cluster });

function check(coverages = ALL) {
  const found = findings();
  return { ...found, commands: new AnsweredClusterCommands(found.collector, coverages) };
}

const items = ['x', 'y'].map((uid) => clusterItem({ object: clusterObject({ uid }) }));
const command = (id: string): ClusterCommand => clusterCommand({ id, items, lifetimeMs: LIFETIME_MS });

function objectsOf(of: ClusterCommand, ...uids: readonly string[]): ClusterObjectResults {
  const [told] = clusterObjectResults().objects;
  if (told === undefined) throw new Error('the fixture tells of an object');
  const objects = uids.map((uid) => ({ ...told, object: { ...told.object, uid } }));
  return clusterObjectResults({
    commandId: of.id,
    id: clusterObjectResultsId({ ...CLUSTER, commandId: of.id }, objects),
    objects,
  });
}

const doneOf = (of: ClusterCommand): ClusterCommandResult =>
  clusterCommandResult({
    commandId: of.id,
    id: clusterCommandResultId({ ...CLUSTER, commandId: of.id }),
    result: { outcome: 'done', counts: { removed: of.items.length } },
  });

const refusalOf = (of: ClusterCommand): ClusterCommandResult => ({
  ...doneOf(of),
  result: { outcome: 'refused', reason: 'expired', message: 'it came too late' },
});

/** Of another cluster of this name, for which the command is not. */
const ofAnother = (of: ClusterCommand): ClusterCommandResult => {
  const clusterInstance = 'another';
  return {
    ...doneOf(of),
    clusterInstance,
    id: clusterCommandResultId({ clusterInstance, commandId: of.id }),
    result: { outcome: 'refused', reason: 'other-instance', message: 'it is for another cluster' },
  };
};

/** Of a record that no key signed which counts: nobody read its id. */
function notTrusted(record: LogRecord): ClusterCommandResult {
  const commandId = namelessId(record);
  const result = { outcome: 'refused', reason: 'not-trusted', message: 'unsigned' } as const;
  return {
    ...doneOf(command(commandId)),
    id: clusterRejectedResultId({ ...CLUSTER, commandId }, result),
    result,
  };
}

const ONE = command('one');
const ALL_OF_ONE: readonly ClusterAnswer[] = [objectsOf(ONE, 'x', 'y'), doneOf(ONE)];

describe('results of a command of a cluster', () => {
  test.each([0, 1, 2])('agree when all are there, %d of them before it', (before) => {
    const { commands, deviations, gaps, counts } = check();
    for (const [index, event] of ALL_OF_ONE.entries())
      if (index < before) commands.answered(event, at('clusterResults', index, SECOND));
    commands.commanded(ONE, at('clusterCommands', 0));
    for (const [index, event] of ALL_OF_ONE.entries())
      if (index >= before) commands.answered(event, at('clusterResults', index, SECOND));
    commands.judge(AT_END, NOW + HOUR);
    expect([deviations(), gaps()]).toEqual([[], []]);
    expect(counts).toMatchObject({ expired: 0, open: 0, ofEarlier: 0, outOfRange: 0 });
  });

  test('may come piece by piece', () => {
    const { commands, deviations } = check();
    commands.answered(objectsOf(ONE, 'x'), at('clusterResults', 0, SECOND));
    commands.answered(objectsOf(ONE, 'y'), at('clusterResults', 1, SECOND));
    commands.commanded(ONE, at('clusterCommands', 0));
    commands.answered(doneOf(ONE), at('clusterResults', 2, SECOND));
    commands.judge(AT_END, NOW + HOUR);
    expect(deviations()).toEqual([]);
  });

  test('that disagree deviate, with the command, and count for nothing', () => {
    const { commands, deviations, collector, counts } = check();
    commands.commanded(ONE, at('clusterCommands', 7), true);
    commands.answered({ ...objectsOf(ONE, 'x', 'y'), id: 'another' }, at('clusterResults', 3, SECOND));
    expect(deviations()).toEqual(['result-differs 3,7']);
    expect(collector.found().deviations.first[0]).toMatchObject({ node: CLUSTER.cluster });
    expect(counts.ofEarlier).toBe(0);
  });

  test('that are missing deviate when the command is done', () => {
    const { commands, deviations, collector } = check();
    commands.commanded(ONE, at('clusterCommands', 7));
    commands.answered(objectsOf(ONE, 'x'), at('clusterResults', 3, SECOND));
    commands.answered(doneOf(ONE), at('clusterResults', 4, SECOND));
    commands.judge(midway(2 * SECOND), NOW + HOUR);
    expect(deviations()).toEqual(['result-missing 4,7']);
    expect(collector.found().deviations.first[0]).toMatchObject({
      node: CLUSTER.cluster,
      message: 'the command was carried out, and 1 of its 2 objects have no result',
    });
  });

  test('are not missed where the command was refused, or their topic was made anew', () => {
    const refused = check();
    refused.commands.commanded(ONE, at('clusterCommands', 0));
    refused.commands.answered(refusalOf(ONE), at('clusterResults', 0, SECOND));
    const anew = check({ ...ALL, beganAfter: (topicId, ms) => topicId === 'clusterResults' && ms === NOW });
    anew.commands.commanded(ONE, at('clusterCommands', 0));
    anew.commands.answered(doneOf(ONE), at('clusterResults', 0, SECOND));
    for (const { commands, deviations, counts } of [refused, anew]) {
      commands.judge(AT_END, NOW + HOUR);
      expect([deviations(), counts.expired]).toEqual([[], 0]);
    }
  });

  test('are waited for as long as they may come', () => {
    const { commands, deviations } = check();
    commands.commanded(ONE, at('clusterCommands', 0));
    commands.answered(doneOf(ONE), at('clusterResults', 0, MINUTE));
    commands.judge(midway(MINUTE), NOW + HOUR);
    expect(deviations()).toEqual([]);
    commands.answered(objectsOf(ONE, 'x', 'y'), at('clusterResults', 1, MINUTE));
    commands.judge(midway(MINUTE + 1), NOW + HOUR);
    commands.judge(AT_END, NOW + HOUR);
    expect(deviations()).toEqual([]);
  });

  test('of a command that was judged are not told again, whatever comes', () => {
    const { commands, deviations, gaps, counts } = check();
    commands.commanded(ONE, at('clusterCommands', 0));
    for (const event of ALL_OF_ONE) commands.answered(event, at('clusterResults', 0, SECOND));
    commands.judge(midway(MINUTE), NOW + MINUTE);
    commands.commanded(ONE, at('clusterCommands', 1, 2 * MINUTE));
    for (const event of ALL_OF_ONE) commands.answered(event, at('clusterResults', 2, 2 * MINUTE));
    commands.judge(AT_END, NOW + HOUR);
    expect([deviations(), gaps(), counts.expired]).toEqual([[], [], 0]);
  });

  test('count once for a command that lies there twice', () => {
    const { commands, deviations, counts } = check();
    commands.commanded(ONE, at('clusterCommands', 0));
    for (const event of ALL_OF_ONE) commands.answered(event, at('clusterResults', 0, SECOND));
    commands.commanded(ONE, at('clusterCommands', 1));
    commands.judge(AT_END, NOW + HOUR);
    expect([deviations(), counts.expired]).toEqual([[], 0]);
  });
});

describe('results without a command', () => {
  test('deviate, each of them, once nothing more can come', () => {
    const { commands, deviations, collector } = check();
    for (const [index, event] of ALL_OF_ONE.entries())
      commands.answered(event, at('clusterResults', index, index * MINUTE));
    commands.judge(midway(MINUTE), NOW + MINUTE);
    expect(deviations()).toEqual([]);
    commands.judge(midway(MINUTE + 1), NOW + MINUTE);
    commands.judge(AT_END, NOW + HOUR);
    expect(deviations()).toEqual(['not-commanded 0', 'not-commanded 1']);
    expect(collector.found().deviations.first[0]).toMatchObject({
      node: CLUSTER.cluster,
      message: 'there is no command one',
    });
  });

  test('are only counted where the command may have been deleted, or lie before what was read', () => {
    const readFrom = (ms: number) =>
      check({ ...ALL, coverage: (topicId) => (topicId === 'clusterCommands' ? ms : 0) });
    for (const { fromMs, outOfRange } of [
      { fromMs: NOW - 24 * HOUR, outOfRange: 0 },
      { fromMs: NOW - 24 * HOUR + 1, outOfRange: 1 },
    ]) {
      const { commands, deviations, counts } = readFrom(fromMs);
      commands.answered(doneOf(ONE), at('clusterResults', 0));
      commands.judge(AT_END, NOW + HOUR);
      expect([deviations().length, counts.outOfRange]).toEqual([1 - outOfRange, outOfRange]);
    }
  });

  test.each([true, false])('to what cannot be read are right, whether it comes first: %s', (first) => {
    const { commands, deviations } = check();
    if (first) commands.unreadable(ONE.id);
    commands.answered(refusalOf(ONE), at('clusterResults', 0));
    if (!first) commands.unreadable(ONE.id);
    commands.judge(AT_END, NOW + HOUR);
    expect(deviations()).toEqual([]);
  });
});

test('what cannot be read hides no command that has its id: its answers are compared', () => {
  const { commands, deviations } = check();
  commands.unreadable(ONE.id);
  commands.commanded(ONE, at('clusterCommands', 1));
  commands.answered(objectsOf(ONE, 'z'), at('clusterResults', 0, SECOND));
  commands.judge(AT_END, NOW + HOUR);
  expect(deviations()).not.toEqual([]);
});

describe('a refusal', () => {
  test('of another cluster of the name ends nothing', () => {
    const { commands, counts, gaps } = check();
    commands.commanded(ONE, at('clusterCommands', 0));
    commands.answered(ofAnother(ONE), at('clusterResults', 0, SECOND));
    commands.judge(AT_END, NOW + HOUR);
    expect([counts.expired, gaps()]).toEqual([1, []]);
  });

  test('of another cluster does not stand in the way of what its own executor tells', () => {
    const { commands, deviations } = check();
    commands.commanded(ONE, at('clusterCommands', 0));
    commands.answered(doneOf(ONE), at('clusterResults', 0, SECOND));
    commands.answered(ofAnother(ONE), at('clusterResults', 1, SECOND));
    commands.judge(AT_END, NOW + HOUR);
    expect(deviations()).toEqual(['result-missing 0,0']);
  });

  test.each([true, false])(
    'of what nobody trusts ends the command that lies there, which it comes before: %s',
    (first) => {
      const { commands, deviations, counts } = check();
      const record = at('clusterCommands', 0);
      if (first) commands.answered(notTrusted(record), at('clusterResults', 0, SECOND));
      commands.commanded(ONE, record);
      if (!first) commands.answered(notTrusted(record), at('clusterResults', 0, SECOND));
      commands.judge(AT_END, NOW + HOUR);
      expect([deviations(), counts.expired]).toEqual([[], 0]);
    },
  );

  test('of what nobody trusts does not replace what was done, and not of that what another record says', () => {
    const { commands, deviations } = check();
    const record = at('clusterCommands', 0);
    commands.commanded(ONE, record);
    commands.answered(doneOf(ONE), at('clusterResults', 0, SECOND));
    commands.answered(notTrusted(record), at('clusterResults', 1, SECOND));
    const other = { ...record, value: Buffer.from('{"other":1}') };
    commands.answered(notTrusted(other), at('clusterResults', 2, SECOND));
    commands.judge(AT_END, NOW + HOUR);
    expect(deviations()).toEqual(['result-missing 0,0', 'not-commanded 2']);
  });

  test('of what nobody trusts ends nothing that was judged', () => {
    const { commands, deviations } = check();
    const record = at('clusterCommands', 0);
    commands.commanded(ONE, record);
    for (const event of ALL_OF_ONE) commands.answered(event, at('clusterResults', 0, SECOND));
    commands.judge(midway(MINUTE), NOW + MINUTE);
    commands.answered(notTrusted(record), at('clusterResults', 1, 2 * MINUTE));
    commands.judge(AT_END, NOW + HOUR);
    expect(deviations()).toEqual([]);
  });
});

describe('a command without an answer', () => {
  test.each([
    { name: 'may still be answered', lastMs: LIFETIME_MS, counts: { open: 1, expired: 0 } },
    { name: 'has expired', lastMs: LIFETIME_MS + 1, counts: { open: 0, expired: 1 } },
  ])('$name', ({ lastMs, counts: expected }) => {
    const { commands, counts, collector } = check();
    commands.commanded(ONE, at('clusterCommands', 0));
    commands.judge(midway(HOUR), NOW + lastMs);
    expect(counts).toMatchObject({ open: 0, expired: 0 });
    commands.judge(AT_END, NOW + lastMs);
    expect(counts).toMatchObject(expected);
    expect(collector.found().unanswered.total).toBe(expected.expired);
  });

  test.each([
    { heardMs: null, kind: 'node-silent' },
    { heardMs: LIFETIME_MS + 10 * MINUTE, kind: 'node-silent' },
    { heardMs: LIFETIME_MS + 10 * MINUTE + 1, kind: 'node-lives-on' },
  ])('is told with when its cluster was heard last: $heardMs', ({ heardMs, kind }) => {
    const { commands, collector, deviations, gaps } = check();
    commands.heard({ ...at('clusterOwnership', 0), key: 'another' });
    commands.heard({ ...at('clusterOwnership', 0), key: null });
    if (heardMs !== null) {
      commands.heard(at('clusterOwnership', 0));
      commands.heard(at('clusterOwnership', 1, heardMs));
    }
    commands.commanded(ONE, at('clusterCommands', 5));
    commands.judge(AT_END, NOW + HOUR);
    expect(collector.found().unanswered.first).toEqual([
      {
        kind,
        id: ONE.id,
        node: CLUSTER.cluster,
        place: expect.objectContaining({ offset: '5' }),
        heardMs: heardMs === null ? null : NOW + heardMs,
      },
    ]);
    expect([deviations(), gaps()]).toEqual([[], []]);
  });

  test('of its own cannot be verified where its objects have results', () => {
    const { commands, collector, gaps } = check();
    commands.commanded(ONE, at('clusterCommands', 5));
    commands.answered(objectsOf(ONE, 'x'), at('clusterResults', 0, SECOND));
    commands.judge(AT_END, NOW + HOUR);
    expect(gaps()).toEqual(['answer-missing 5']);
    expect(collector.found().unverified.first[0]).toMatchObject({
      node: CLUSTER.cluster,
      message: '1 of its objects have results, and the command itself has none',
    });
    expect(collector.found().unanswered.total).toBe(0);
  });
});

test('results of a command from before the range are counted, and what it lacks is not told', () => {
  const { commands, deviations, gaps, counts, collector } = check();
  commands.commanded(ONE, at('clusterCommands', 0), true);
  commands.answered(objectsOf(ONE, 'x'), at('clusterResults', 0, SECOND));
  commands.judge(midway(HOUR), NOW + HOUR);
  commands.answered(doneOf(ONE), at('clusterResults', 1, 2 * HOUR));
  commands.judge(AT_END, NOW + 3 * HOUR);
  expect([deviations(), gaps(), collector.found().unanswered.total]).toEqual([[], [], 0]);
  expect(counts).toMatchObject({ ofEarlier: 2, expired: 0 });
});

describe('what an executor does has to be announced', () => {
  const EXECUTOR = 'executor-1';
  const intentOf = (of: ClusterCommand, ...uids: readonly string[]): ClusterCommandIntent => {
    const objects = uids.map((uid) => ({
      object: clusterObject({ uid }),
      rule: 'D14',
      action: 'delete' as const,
    }));
    return clusterCommandIntent({
      commandId: of.id,
      executor: EXECUTOR,
      id: clusterIntentId({ ...CLUSTER, commandId: of.id }, EXECUTOR, objects),
      lifetimeMs: LIFETIME_MS,
      objects,
    });
  };
  /** Of releases that write intents. */
  function namedObjectsOf(of: ClusterCommand, ...uids: readonly string[]): ClusterObjectResults {
    const told = objectsOf(of, ...uids);
    const { objects } = told;
    const id = clusterObjectResultsId({ ...CLUSTER, commandId: of.id, executor: EXECUTOR }, objects);
    return { ...told, executor: EXECUTOR, id };
  }
  const record = (offset: number): LogRecord => at('clusterResults', offset, offset * SECOND);

  test('an intent, results and an end are as they have to be', () => {
    const { commands, deviations, gaps } = check();
    commands.commanded(ONE, at('clusterCommands', 0));
    commands.answered(intentOf(ONE, 'x', 'y'), record(1));
    commands.answered(namedObjectsOf(ONE, 'x', 'y'), record(2));
    commands.answered(doneOf(ONE), record(3));
    commands.judge(AT_END, NOW + HOUR);
    expect([deviations(), gaps()]).toEqual([[], []]);
  });

  test.each<readonly [string, (commands: AnsweredClusterCommands) => void]>([
    ['no intent', () => undefined],
    [
      'an intent of another executor',
      (commands) => {
        const objects = intentOf(ONE, 'x', 'y').objects;
        const id = clusterIntentId({ ...CLUSTER, commandId: ONE.id }, 'other', objects);
        commands.answered({ ...intentOf(ONE, 'x', 'y'), executor: 'other', id }, record(1));
      },
    ],
  ])('a removal that only %s precedes deviates, for each object', (_, before) => {
    const { commands, deviations } = check();
    commands.commanded(ONE, at('clusterCommands', 0));
    before(commands);
    commands.answered(namedObjectsOf(ONE, 'x', 'y'), record(2));
    commands.answered(intentOf(ONE, 'x', 'y'), record(3));
    commands.answered(doneOf(ONE), record(4));
    commands.judge(AT_END, NOW + HOUR);
    expect(deviations()).toEqual(['not-announced 2,0', 'not-announced 2,0']);
  });

  test('an intent that names fewer objects than were removed does not cover the rest', () => {
    const { commands, deviations } = check();
    commands.commanded(ONE, at('clusterCommands', 0));
    commands.answered(intentOf(ONE, 'x'), record(1));
    commands.answered(namedObjectsOf(ONE, 'x', 'y'), record(2));
    commands.answered(doneOf(ONE), record(3));
    commands.judge(AT_END, NOW + HOUR);
    expect(deviations()).toEqual(['not-announced 2,0']);
  });

  test('what was recorded by a release without intents does not deviate, until one of the cluster writes the first', () => {
    const { commands, deviations } = check();
    commands.commanded(ONE, at('clusterCommands', 0));
    commands.answered(objectsOf(ONE, 'x', 'y'), record(1));
    commands.answered(doneOf(ONE), record(2));
    const two = command('two');
    commands.commanded(two, at('clusterCommands', 3));
    commands.answered(intentOf(two, 'x'), record(4));
    commands.answered(objectsOf(two, 'x', 'y'), record(5));
    commands.answered(doneOf(two), record(6));
    commands.judge(AT_END, NOW + HOUR);
    expect(deviations()).toEqual(['not-announced 5,3', 'not-announced 5,3']);
  });

  test('what was refused, was gone or was settled needs no intent of its teller', () => {
    const { commands, deviations } = check();
    const told = namedObjectsOf(ONE, 'x', 'y');
    const outcomes: readonly ClusterObjectOutcome[] = [
      { outcome: 'not-found' },
      { outcome: 'not-found', found: 'gone', message: '' },
    ];
    const objects = told.objects.map((each, index) => ({ ...each, result: outcomes[index] ?? each.result }));
    const id = clusterObjectResultsId({ ...CLUSTER, commandId: ONE.id, executor: EXECUTOR }, objects);
    commands.commanded(ONE, at('clusterCommands', 0));
    commands.answered({ ...told, id, objects }, record(1));
    commands.answered(doneOf(ONE), record(2));
    commands.judge(AT_END, NOW + HOUR);
    expect(deviations()).toEqual([]);
  });

  test('intents that may have been deleted with a topic, or lie before the range, are not missed', () => {
    for (const coverages of [
      { ...ALL, beganAfter: () => true },
      { ...ALL, coverage: () => NOW + MINUTE },
    ]) {
      const { commands, deviations } = check(coverages);
      commands.commanded(ONE, at('clusterCommands', 0));
      commands.answered(namedObjectsOf(ONE, 'x', 'y'), record(2));
      commands.answered(doneOf(ONE), record(3));
      commands.judge(AT_END, NOW + HOUR);
      expect(deviations()).toEqual([]);
    }
  });

  test.each([
    { name: 'long over', lastMs: NOW + HOUR, isOpen: false },
    { name: 'maybe at work', lastMs: NOW + LIFETIME_MS, isOpen: true },
  ])('an intent of which no result tells is said, where its executor is $name', ({ lastMs, isOpen }) => {
    const { commands, deviations, gaps, counts } = check();
    commands.commanded(ONE, at('clusterCommands', 0));
    commands.answered(intentOf(ONE, 'x', 'y'), record(1));
    commands.judge(AT_END, lastMs);
    expect(deviations()).toEqual([]);
    expect(gaps()).toEqual(isOpen ? [] : ['intent-open 1,0']);
    expect(counts.open).toBe(isOpen ? 2 : 0);
  });

  test.each<readonly [string, Partial<ClusterCommandIntent>, string]>([
    ['another lifetime', { lifetimeMs: 1 }, 'result-differs 1,0'],
    ['another decision', { decisionId: 'other' }, 'result-differs 1,0'],
    ['an id that does not follow', { id: 'made-up' }, 'result-differs 1,0'],
  ])('an intent with %s deviates', (_, over, deviation) => {
    const { commands, deviations } = check();
    commands.commanded(ONE, at('clusterCommands', 0));
    commands.answered({ ...intentOf(ONE, 'x', 'y'), ...over }, record(1));
    commands.judge(AT_END, NOW + HOUR);
    expect(deviations()).toEqual([deviation]);
  });

  test('an intent for no command, or about an object that the command does not name, is not commanded', () => {
    const { commands, deviations } = check();
    commands.commanded(ONE, at('clusterCommands', 0));
    commands.answered(intentOf(ONE, 'z'), record(1));
    commands.answered(intentOf(command('none'), 'x'), record(2));
    commands.judge(AT_END, NOW + HOUR);
    expect(deviations()).toEqual(['not-commanded 1,0', 'not-commanded 2']);
  });
});
