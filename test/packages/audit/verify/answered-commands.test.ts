import { describe, expect, test } from 'vitest';
import { AnsweredCommands, namelessId } from '../../../../packages/audit/verify/commands.ts';
import {
  commandResultId,
  objectResultId,
  rejectedResultId,
  removalIntentId,
} from '../../../../packages/decision/result-ids.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import type { Command, ImageRemoval } from '../../../../schemas/events/command.ts';
import type { CommandResult, ObjectOutcome, ObjectResult } from '../../../../schemas/events/result.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { NODE } from '../../../fixtures/inventory.ts';
import { objectResult, refusedCommand, removalIntent, removed } from '../../../fixtures/results.ts';
import { HOUR, instant, MINUTE, NOW, SECOND } from '../../../fixtures/time.ts';
import { ALL, AT_END, at, findings, midway } from './support.ts';

const OTHER_INSTANCE = '00000000-0000-4000-8000-000000000000';

function check(coverages = ALL) {
  const found = findings();
  return { ...found, commands: new AnsweredCommands(found.collector, coverages) };
}

const command = (id: string, over: Partial<ImageRemoval> = {}): ImageRemoval =>
  imageRemoval(['a', 'b'], { id, ...over });

/** What an executor says of the object at this place of a command. */
function resultOf(of: Command, index: number, over: Partial<ObjectResult> = {}): ObjectResult {
  const item = of.items[index];
  if (item === undefined) throw new Error('there is no such item');
  const object = { kind: item.kind, id: item.id };
  const by = { nodeInstance: of.nodeInstance, commandId: of.id };
  const { cluster, node, nodeInstance } = of;
  const id = objectResultId(by, index, object);
  return objectResult({
    cluster,
    node,
    nodeInstance,
    commandId: of.id,
    id,
    object,
    rule: item.rule,
    ...over,
  });
}

/** What an executor says of a record that no key signed which counts. */
const notTrusted = (record: LogRecord): CommandResult =>
  refusedCommand({
    ...NODE,
    commandId: namelessId(record),
    result: { outcome: 'refused', reason: 'not-trusted', message: 'unsigned: it carries no signature' },
  });

type Done = Extract<CommandResult['result'], { outcome: 'done' }>;
function doneOf(of: Command, counts: Partial<Done>): CommandResult {
  const { cluster, node, nodeInstance } = of;
  return refusedCommand({
    cluster,
    node,
    nodeInstance,
    commandId: of.id,
    id: commandResultId({ nodeInstance, commandId: of.id }),
    result: {
      outcome: 'done',
      removed: 0,
      notFound: 0,
      refused: 0,
      failed: 0,
      notNeeded: 0,
      notDone: 0,
      measured: null,
      estimatedBytes: null,
      targetReached: null,
      ...counts,
    },
  });
}
const refusalOf = (of: Command): CommandResult => ({
  ...doneOf(of, {}),
  result: { outcome: 'refused', reason: 'expired', message: 'it came too late' },
});

describe('results of a command', () => {
  const one = command('one');

  test('agree when all are there, in whatever order they lie', () => {
    const events = [resultOf(one, 0), resultOf(one, 1), doneOf(one, { removed: 2 })];
    for (const order of [events, events.toReversed()]) {
      const { commands, deviations, gaps, counts } = check();
      for (const [index, event] of order.slice(0, 2).entries())
        commands.answered(event, at('results', index, SECOND));
      commands.commanded(one, at('commands', 0));
      for (const event of order.slice(2)) commands.answered(event, at('results', 2, SECOND));
      commands.judge(AT_END, NOW + HOUR);
      commands.late.end();
      expect([...deviations(), ...gaps(), counts.expired, counts.open]).toEqual([0, 0]);
    }
  });

  test('are missed of an object that was announced while the journal could not be written', () => {
    const [item] = one.items;
    if (item === undefined) throw new Error('it names objects');
    const { kind, id } = item;
    const { cluster, node, nodeInstance, decisionId, inventoryId } = one;
    const by = { nodeInstance, commandId: one.id };
    const intent = removalIntent({
      id: removalIntentId(by, 0, { kind, id }),
      cluster,
      node,
      nodeInstance,
      at: instant(),
      commandId: one.id,
      decisionId,
      inventoryId,
      object: { kind, id },
      rule: item.rule,
    });
    for (const told of [
      { answers: [intent], open: ['intent-open 0,0'] },
      { answers: [intent, refusalOf(one)], open: ['intent-open 0,0'] },
      { answers: [intent, resultOf(one, 0), resultOf(one, 1), doneOf(one, { removed: 2 })], open: [] },
    ]) {
      const { commands, deviations, gaps } = check();
      commands.commanded(one, at('commands', 0));
      for (const [index, event] of told.answers.entries())
        commands.answered(event, at('results', index, SECOND));
      commands.judge(AT_END, NOW + HOUR);
      expect({ deviations: deviations(), gaps: gaps() }).toEqual({ deviations: [], gaps: told.open });
    }
    const { commands, deviations } = check();
    commands.commanded(one, at('commands', 0));
    commands.answered({ ...intent, object: { kind, id: 'another' } }, at('results', 0, SECOND));
    commands.judge(AT_END, NOW + HOUR);
    expect(deviations()).toEqual(['not-commanded 0,0']);
  });

  test('are not counted where those of its objects went with a topic that was made anew', () => {
    const anew = { ...ALL, beganAfter: (topicId: string) => topicId === 'results' };
    for (const { coverages, missing } of [
      { coverages: anew, missing: 0 },
      { coverages: ALL, missing: 1 },
    ]) {
      const { commands, deviations } = check(coverages);
      commands.commanded(one, at('commands', 0));
      commands.answered(doneOf(one, { removed: 2 }), at('results', 0, SECOND));
      commands.judge(AT_END, NOW + HOUR);
      expect(deviations()).toHaveLength(missing);
    }
  });

  test('one more or one fewer than the command counts is missing', () => {
    for (const counted of [1, 3]) {
      const { commands, deviations } = check();
      commands.commanded(one, at('commands', 0));
      for (const index of [0, 1]) commands.answered(resultOf(one, index), at('results', index, SECOND));
      commands.answered(doneOf(one, { removed: counted }), at('results', 2, SECOND));
      commands.judge(AT_END, NOW + HOUR);
      expect(deviations()).toEqual(['result-missing 2,0']);
    }
  });

  test('each outcome is counted by itself', () => {
    const outcomes: Record<Exclude<keyof Done & string, 'outcome'>, ObjectOutcome | null> = {
      removed: removed(1),
      notFound: { outcome: 'not-found' },
      refused: { outcome: 'refused', reason: 'in-use', message: '' },
      failed: { outcome: 'failed', reason: 'runtime-error', message: '', backoffUntilMs: 1 },
      notNeeded: { outcome: 'not-needed', message: '' },
      notDone: { outcome: 'not-done', message: '' },
      measured: null,
      estimatedBytes: null,
      targetReached: null,
    };
    for (const [field, result] of Object.entries(outcomes)) {
      if (result === null) continue;
      const { commands, deviations } = check();
      for (const [offset, counts] of [{ [field]: 1 }, {}].entries()) {
        const each = command(`${field}-${offset}`, { items: one.items.slice(0, 1) });
        commands.commanded(each, at('commands', offset));
        commands.answered(resultOf(each, 0, { result }), at('results', 2 * offset, SECOND));
        commands.answered(doneOf(each, counts), at('results', 2 * offset + 1, SECOND));
      }
      commands.judge(AT_END, NOW + HOUR);
      expect(deviations(), field).toEqual(['result-missing 3,1']);
    }
  });

  test('a refused command has no results of its objects', () => {
    const { commands, deviations } = check();
    commands.commanded(one, at('commands', 0));
    commands.answered(resultOf(one, 0), at('results', 0, SECOND));
    commands.answered(refusalOf(one), at('results', 1, SECOND));
    commands.judge(AT_END, NOW + HOUR);
    expect(deviations()).toEqual(['result-missing 1,0']);
  });

  test('that come when all of them were there contradict them, however late', () => {
    const { commands, deviations } = check();
    commands.commanded(one, at('commands', 0));
    for (const index of [0, 1]) commands.answered(resultOf(one, index), at('results', index, SECOND));
    commands.answered(doneOf(one, { removed: 2 }), at('results', 2, SECOND));
    commands.judge(midway(MINUTE), NOW + HOUR);
    commands.answered(refusalOf(one), at('results', 3, 2 * HOUR));
    commands.judge(AT_END, NOW + 3 * HOUR);
    expect(deviations()).toEqual(['result-differs 3']);
  });

  test.each<{ what: string; answer: ObjectResult; kind: string }>([
    { what: 'of another node', answer: resultOf(one, 0, { node: 'other' }), kind: 'result-differs' },
    {
      what: 'of another installation',
      answer: { ...resultOf(command('one', { nodeInstance: OTHER_INSTANCE }), 0) },
      kind: 'result-differs',
    },
    { what: 'of another decision', answer: resultOf(one, 0, { decisionId: 'x' }), kind: 'result-differs' },
    { what: 'of another inventory', answer: resultOf(one, 0, { inventoryId: 'x' }), kind: 'result-differs' },
    { what: 'by another rule', answer: resultOf(one, 0, { rule: 'E1' }), kind: 'result-differs' },
    { what: 'with another id', answer: resultOf(one, 0, { id: 'x' }), kind: 'result-differs' },
    {
      what: 'about another object',
      answer: resultOf(one, 0, { object: { kind: 'image', id: 'other' } }),
      kind: 'not-commanded',
    },
    {
      what: 'about another kind of object',
      answer: resultOf(one, 0, { object: { kind: 'container', id: 'a' } }),
      kind: 'not-commanded',
    },
  ])('$what disagrees with its command, before and after it', ({ answer, kind }) => {
    for (const comesFirst of [true, false]) {
      const { commands, deviations } = check();
      if (comesFirst) commands.answered(answer, at('results', 7, SECOND));
      commands.commanded(one, at('commands', 0));
      if (!comesFirst) commands.answered(answer, at('results', 7, SECOND));
      expect(deviations()).toEqual([`${kind} 7,0`]);
    }
  });

  test('a result of the command itself has the id that follows from it', () => {
    const { commands, deviations } = check();
    commands.commanded(one, at('commands', 0));
    commands.answered({ ...refusalOf(one), id: 'x' }, at('results', 0, SECOND));
    expect(deviations()).toEqual(['result-differs 0,0']);
  });

  test('are judged when the last of them has settled: brokers’ clocks differ', () => {
    const { commands, deviations } = check();
    commands.commanded(one, at('commands', 0));
    commands.answered(doneOf(one, { removed: 1 }), at('results', 1, HOUR));
    commands.judge(midway(HOUR), NOW + HOUR);
    commands.answered(resultOf(one, 0), at('results', 0, HOUR));
    commands.judge(AT_END, NOW + 2 * HOUR);
    expect(deviations()).toEqual([]);
  });

  test('that lie before their command wait for it until the last of them has settled', () => {
    const { commands, deviations } = check();
    commands.answered(resultOf(one, 0), at('results', 0));
    commands.answered(doneOf(one, { removed: 1 }), at('results', 1, HOUR));
    commands.judge(midway(HOUR), NOW + HOUR);
    commands.commanded(one, at('commands', 0, HOUR));
    commands.judge(AT_END, NOW + 2 * HOUR);
    commands.late.end();
    expect(deviations()).toEqual([]);
  });

  test('of what is no command, by its id, are neither right nor wrong', () => {
    const { commands, deviations } = check();
    commands.unreadable('one');
    commands.answered(refusalOf(one), at('results', 0, SECOND));
    commands.judge(AT_END, NOW + 3 * HOUR);
    commands.late.end();
    expect(deviations()).toEqual([]);
  });

  test('of a command that was not read, since its key counted no more, agree with it, before it and after', () => {
    const value = Buffer.from('{"a":"command"}');
    const record = at('commands', 1, 0, { value });
    const refusal = notTrusted(record);
    for (const order of ['before', 'after'] as const) {
      const { commands, deviations, collector } = check();
      if (order === 'before') commands.answered(refusal, at('results', 2, SECOND));
      commands.commanded(command('a'), record);
      if (order === 'after') commands.answered(refusal, at('results', 2, SECOND));
      commands.judge(AT_END, NOW + HOUR);
      commands.late.end();
      expect(deviations()).toEqual([]);
      expect(collector.found().unanswered.total).toBe(0);
    }
  });

  test('of a command that an older executor could not read agree with it, and no made up id does', () => {
    const refusal = { reason: 'unsupported-version', message: 'it has version 2' } as const;
    const by = { nodeInstance: one.nodeInstance, commandId: one.id };
    const answer = { ...refusalOf(one), result: { outcome: 'refused', ...refusal } } as const;
    for (const [id, expected] of [
      [rejectedResultId(by, refusal), []],
      [rejectedResultId(by, { ...refusal, message: 'another' }), ['result-differs 1,0']],
    ] as const) {
      const { commands, deviations } = check();
      commands.commanded(one, at('commands', 0));
      commands.answered({ ...answer, id }, at('results', 1, SECOND));
      commands.judge(AT_END, NOW + HOUR);
      commands.late.end();
      expect(deviations()).toEqual(expected);
    }
  });

  test('of a command that was not read tell of no removal', () => {
    const { commands, deviations } = check();
    const record = at('commands', 1, 0, { value: Buffer.from('{"a":"command"}') });
    const { commandId } = notTrusted(record);
    commands.commanded(command('a'), record);
    commands.answered(resultOf(command('a'), 0, { commandId }), at('results', 2, SECOND));
    commands.judge(AT_END, NOW + HOUR);
    commands.late.end();
    expect(deviations()).toEqual(['not-commanded 2']);
  });

  test('without any command, nobody commanded them', () => {
    const { commands, deviations } = check();
    commands.answered(resultOf(one, 0), at('results', 0));
    commands.judge(AT_END, NOW + 3 * HOUR);
    commands.late.end();
    expect(deviations()).toEqual(['not-commanded 0']);
  });
});

describe('two machines under one name', () => {
  const one = command('one');
  const bystander = (over: Partial<CommandResult> = {}): CommandResult => ({
    ...doneOf(command('one', { nodeInstance: OTHER_INSTANCE }), {}),
    result: { outcome: 'refused', reason: 'other-instance', message: 'it is for another instance' },
    ...over,
  });
  const carriedOut = [resultOf(one, 0), resultOf(one, 1), doneOf(one, { removed: 2 })];

  test.each([0, 1, 2, 3])('one refuses what the other carries out, as answer %i', (place) => {
    const { commands, deviations, gaps, counts } = check();
    commands.commanded(one, at('commands', 0));
    for (const [offset, event] of carriedOut.toSpliced(place, 0, bystander()).entries())
      commands.answered(event, at('results', offset, SECOND));
    commands.judge(AT_END, NOW + HOUR);
    expect([...deviations(), ...gaps(), counts.expired, counts.open]).toEqual([0, 0]);
  });

  test.each([
    { what: 'the refusal', soon: carriedOut, late: [bystander()] },
    { what: 'what the other says', soon: [bystander()], late: carriedOut },
  ])('$what may come when the rest has settled', ({ soon, late }) => {
    const { commands, deviations } = check();
    commands.commanded(one, at('commands', 0));
    for (const [offset, event] of soon.entries()) commands.answered(event, at('results', offset, SECOND));
    commands.judge(midway(HOUR), NOW + HOUR);
    for (const [offset, event] of late.entries())
      commands.answered(event, at('results', soon.length + offset, 2 * HOUR));
    commands.judge(AT_END, NOW + 3 * HOUR);
    commands.late.end();
    expect(deviations()).toEqual([]);
  });

  test('a refusal alone is an answer: the node was installed anew', () => {
    const { commands, collector, counts } = check();
    commands.commanded(one, at('commands', 0));
    commands.answered(bystander(), at('results', 0, SECOND));
    commands.judge(midway(HOUR), NOW + HOUR);
    commands.judge(AT_END, NOW + 3 * HOUR);
    expect([collector.found().unanswered.total, counts.expired, counts.open]).toEqual([0, 0, 0]);
  });

  test.each([
    ['for another reason', bystander({ result: refusalOf(one).result }), 'result-differs 3'],
    ['with an id that does not follow', bystander({ id: 'x' }), 'result-differs 2,0'],
    [
      'of the one that carried it out',
      bystander({ nodeInstance: one.nodeInstance, id: doneOf(one, {}).id }),
      'result-missing 2,0',
    ],
  ])('a refusal %s contradicts as ever', (_what, refusal, deviation) => {
    const { commands, deviations } = check();
    commands.commanded(one, at('commands', 0));
    const isLate = deviation === 'result-differs 3';
    for (const [offset, event] of carriedOut.slice(0, isLate ? 3 : 2).entries())
      commands.answered(event, at('results', offset, SECOND));
    if (isLate) commands.judge(midway(HOUR), NOW + HOUR);
    commands.answered(refusal, at('results', isLate ? 3 : 2, 2 * SECOND));
    commands.judge(AT_END, NOW + 3 * HOUR);
    expect(deviations()).toContain(deviation);
  });
});

test('a refusal of what nobody trusts is one of earlier commands only where the command is', () => {
  const record = at('commands', 0);
  for (const { isEarlier, ofEarlier } of [
    { isEarlier: true, ofEarlier: 1 },
    { isEarlier: false, ofEarlier: 0 },
  ]) {
    const { commands, deviations, counts } = check();
    const one = command('one');
    if (isEarlier) commands.commandedBefore(one, record);
    else commands.commanded(one, record);
    if (!isEarlier) commands.answered(refusalOf(one), at('results', 0, SECOND));
    commands.judge(midway(HOUR), NOW + HOUR);
    commands.answered(notTrusted(record), at('results', 1, 2 * HOUR));
    expect([deviations(), counts.ofEarlier]).toEqual([[], ofEarlier]);
  }
});

describe('a command without a result of its own', () => {
  const [first, second] = [command('first'), command('second')];

  test('of which objects have results is missing one when its executor carried out a later one', () => {
    const { commands, deviations } = check();
    commands.commanded(first, at('commands', 0));
    commands.answered(resultOf(first, 0), at('results', 0, SECOND));
    commands.commanded(second, at('commands', 1, 2 * SECOND));
    commands.answered(resultOf(second, 0), at('results', 1, 3 * SECOND));
    commands.judge(midway(HOUR), NOW + HOUR);
    expect(deviations()).toEqual(['result-missing 0,0']);
  });

  test('and without any result does not miss one: its node was away', () => {
    const { commands, deviations } = check();
    commands.commanded(first, at('commands', 0));
    commands.commanded(second, at('commands', 1, 2 * SECOND));
    commands.answered(resultOf(second, 0), at('results', 1, 3 * SECOND));
    commands.judge(midway(HOUR), NOW + HOUR);
    expect(deviations()).toEqual([]);
  });

  test('does not miss it yet when the later one was carried out just now', () => {
    const { commands, deviations } = check();
    commands.commanded(first, at('commands', 0));
    commands.answered(resultOf(first, 0), at('results', 0, SECOND));
    commands.commanded(second, at('commands', 1, HOUR));
    commands.answered(resultOf(second, 0), at('results', 1, HOUR));
    commands.judge(midway(HOUR), NOW + HOUR);
    commands.answered(doneOf(first, { removed: 1 }), at('results', 2, HOUR));
    commands.judge(midway(2 * HOUR), NOW + 2 * HOUR);
    expect(deviations()).toEqual([]);
  });

  test('misses it since the later one began to be carried out, however long that took', () => {
    const { commands, deviations } = check();
    commands.commanded(first, at('commands', 0));
    commands.answered(resultOf(first, 0), at('results', 0, SECOND));
    commands.commanded(second, at('commands', 1, 2 * SECOND));
    commands.answered(resultOf(second, 0), at('results', 1, 3 * SECOND));
    commands.answered(resultOf(second, 1), at('results', 2, HOUR));
    commands.judge(midway(HOUR), NOW + HOUR);
    expect(deviations()).toEqual(['result-missing 0,0']);
  });

  test('does not miss it when what was carried out is of another installation', () => {
    const reinstalled = command('second', { nodeInstance: OTHER_INSTANCE });
    const { commands, deviations } = check();
    commands.commanded(first, at('commands', 0));
    commands.answered(resultOf(first, 0), at('results', 0, SECOND));
    commands.commanded(reinstalled, at('commands', 1, SECOND));
    commands.answered(resultOf(reinstalled, 0), at('results', 1, 3 * SECOND));
    commands.judge(midway(HOUR), NOW + HOUR);
    expect(deviations()).toEqual([]);
  });

  test('a result of an earlier command that comes late does not hide that a later one was carried out', () => {
    const third = command('third');
    const { commands, deviations } = check();
    commands.commanded(first, at('commands', 0));
    commands.commanded(second, at('commands', 1));
    commands.commanded(third, at('commands', 2));
    for (const [offset, one] of [third, second, first].entries())
      commands.answered(resultOf(one, 0), at('results', offset, offset * SECOND));
    commands.judge(midway(HOUR), NOW + HOUR);
    expect(deviations()).toEqual(['result-missing 0,2', 'result-missing 1,1']);
  });

  test('a refusal of a later command is none that was carried out', () => {
    const { commands, deviations } = check();
    commands.commanded(first, at('commands', 0));
    commands.answered(resultOf(first, 0), at('results', 0, SECOND));
    commands.commanded(second, at('commands', 1, 2 * SECOND));
    commands.answered(refusalOf(second), at('results', 1, 3 * SECOND));
    commands.judge(midway(HOUR), NOW + HOUR);
    expect(deviations()).toEqual([]);
  });

  test('is a gap when its node was heard ten minutes after its objects, and none when another node was', () => {
    for (const { key, gap } of [
      { key: 'prod/web-1', gap: ['answer-missing 0,0'] },
      { key: 'prod/web-2', gap: [] },
    ]) {
      const { commands, gaps } = check();
      commands.commanded(first, at('commands', 0));
      commands.answered(resultOf(first, 0), at('results', 0, SECOND));
      commands.heard(at('inventory', 0, SECOND + 10 * MINUTE + 1, { key }));
      commands.judge(AT_END, NOW + HOUR);
      expect(gaps()).toEqual(gap);
    }
  });

  test('is no gap while one of its results is not ten minutes old', () => {
    for (const { offsets, heardMs } of [
      { offsets: [0], heardMs: SECOND + 10 * MINUTE },
      { offsets: [0, 1], heardMs: HOUR },
    ]) {
      const { commands, gaps, collector } = check();
      commands.commanded(first, at('commands', 0));
      for (const index of offsets)
        commands.answered(resultOf(first, index), at('results', index, index === 0 ? SECOND : HOUR));
      commands.heard(at('inventory', 0, heardMs));
      commands.judge(AT_END, NOW + HOUR);
      expect(gaps()).toEqual([]);
      expect(collector.found().unanswered.total, 'some of its objects have results').toBe(0);
    }
  });

  test('may still be answered for as long as it lives; then it expired', () => {
    for (const { lastMs, counts } of [
      { lastMs: first.lifetimeMs, counts: { open: 1, expired: 0 } },
      { lastMs: first.lifetimeMs + 1, counts: { open: 0, expired: 1 } },
    ]) {
      const found = check();
      found.commands.commanded(first, at('commands', 0));
      found.commands.judge(AT_END, NOW + lastMs);
      expect(found.counts).toMatchObject(counts);
      expect(found.collector.found().unanswered.total).toBe(counts.expired);
    }
  });

  test('its node lives on when it was heard ten minutes after the command ended, else it is silent', () => {
    const endMs = first.lifetimeMs + 10 * MINUTE;
    for (const { heardMs, kind } of [
      { heardMs: endMs, kind: 'node-silent' },
      { heardMs: endMs + 1, kind: 'node-lives-on' },
    ]) {
      const { commands, collector } = check();
      commands.commanded(first, at('commands', 0));
      commands.heard(at('inventory', 0, heardMs));
      commands.judge(AT_END, NOW + HOUR);
      expect(collector.found().unanswered.first).toMatchObject([
        { kind, id: 'first', node: `${NODE.cluster}/${NODE.node}`, heardMs: NOW + heardMs },
      ]);
    }
  });
});

describe('several nodes at once', () => {
  test('each command has the results of its own node, though ids of their objects are the same', () => {
    const nodes = ['web-1', 'web-2', 'web-3'];
    const all = nodes.map((node) => command(`of ${node}`, { node, nodeInstance: `instance of ${node}` }));
    const { commands, deviations, gaps } = check();
    for (const [offset, one] of all.entries()) commands.commanded(one, at('commands', offset));
    const events = all.flatMap((one) => [resultOf(one, 0), resultOf(one, 1)]);
    const oneObjectEach = [0, 1].flatMap((rest) => events.filter((_, index) => index % 2 === rest));
    for (const [offset, event] of oneObjectEach.entries())
      commands.answered(event, at('results', offset, SECOND));
    for (const [index, one] of all.entries())
      commands.answered(doneOf(one, { removed: 2 }), at('results', 10 + index, 2 * SECOND));
    commands.judge(AT_END, NOW + HOUR);
    expect([...deviations(), ...gaps()]).toEqual([]);
  });
});

describe('commands from before the range', () => {
  const earlier = command('earlier');

  test('some of their results lie in it: these agree, more than the command counts do not', () => {
    for (const { counted, expected } of [
      { counted: 2, expected: [] },
      { counted: 0, expected: ['result-missing 2,0'] },
    ]) {
      const { commands, deviations, counts } = check();
      commands.commandedBefore(earlier, at('commands', 0, -MINUTE));
      commands.answered(resultOf(earlier, 1), at('results', 1, SECOND));
      commands.answered(doneOf(earlier, { removed: counted }), at('results', 2, SECOND));
      commands.judge(AT_END, NOW + HOUR);
      expect(deviations()).toEqual(expected);
      expect(counts.ofEarlier).toBe(2);
    }
  });

  test('published once more in it, they are still of before: nothing is missing of them', () => {
    const { commands, deviations, counts } = check();
    commands.commandedBefore(earlier, at('commands', 0, -MINUTE));
    commands.commanded(earlier, at('commands', 1, SECOND));
    commands.answered(doneOf(earlier, { removed: 2 }), at('results', 2, SECOND));
    commands.judge(AT_END, NOW + 3 * HOUR);
    expect(deviations()).toEqual([]);
    expect(counts).toMatchObject({ ofEarlier: 1, expired: 0, open: 0 });
  });

  test('read twice, they keep the results that they have', () => {
    const { commands, deviations } = check();
    commands.commandedBefore(earlier, at('commands', 0, -MINUTE));
    commands.answered(resultOf(earlier, 0), at('results', 1, SECOND));
    commands.commandedBefore(earlier, at('commands', 1, -SECOND));
    commands.answered(doneOf(earlier, {}), at('results', 2, SECOND));
    commands.judge(AT_END, NOW + HOUR);
    expect(deviations()).toEqual(['result-missing 2,0']);
  });

  test('are remembered for a day', () => {
    const { commands, counts } = check();
    commands.commandedBefore(earlier, at('commands', 0));
    commands.judge(midway(24 * HOUR), NOW + 24 * HOUR);
    commands.answered(resultOf(earlier, 0), at('results', 1, 24 * HOUR));
    expect(commands.late.areThere()).toBe(false);
    expect(counts.ofEarlier).toBe(1);
  });

  test('that may have been deleted excuse a refusal for its age, and no removal', () => {
    const kept = { ...ALL, kept: () => NOW };
    for (const { answer, expected } of [
      { answer: refusalOf(earlier), expected: [] },
      { answer: resultOf(earlier, 0), expected: ['not-commanded 0'] },
    ]) {
      const { commands, deviations, counts } = check(kept);
      commands.answered(answer, at('results', 0, 3 * 24 * HOUR));
      commands.judge(AT_END, NOW + 4 * 24 * HOUR);
      commands.late.end();
      expect(deviations()).toEqual(expected);
      expect(counts.outOfRange).toBe(1 - expected.length);
    }
  });

  test('a result that comes a day after such a command was forgotten is compared with it at the end', () => {
    const { commands, deviations, counts } = check();
    commands.commandedBefore(earlier, at('commands', 0, -MINUTE));
    commands.judge(midway(25 * HOUR), NOW + 25 * HOUR);
    commands.answered(resultOf(earlier, 0, { rule: 'E1' }), at('results', 1, 26 * HOUR));
    commands.answered(resultOf(earlier, 1), at('results', 2, 26 * HOUR));
    expect(commands.late.areThere()).toBe(true);
    commands.late.commanded(earlier, at('commands', 0, -MINUTE));
    commands.late.end();
    expect(deviations()).toEqual(['result-differs 1,0']);
    expect(counts.ofEarlier).toBe(1);
  });
});
