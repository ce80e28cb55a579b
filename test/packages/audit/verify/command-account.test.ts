import { describe, expect, test } from 'vitest';
import { placeOf } from '../../../../packages/audit/events/log-position.ts';
import {
  isDistrust,
  LateAnswers,
  namelessId,
  namesOfUnreadable,
  openAccount,
  steadyContent,
  takeAnswer,
} from '../../../../packages/audit/verify/commands.ts';
import { unreadableCommandId } from '../../../../packages/decision/rejected-orders.ts';
import { passFailedId } from '../../../../packages/decision/result-ids.ts';
import type { PassFailed } from '../../../../schemas/events/result.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { refusedCommand } from '../../../fixtures/results.ts';
import { instant } from '../../../fixtures/time.ts';
import { ALL, at, findings } from './support.ts';

const command = imageRemoval(['a'], { id: 'command-1' });
const passFailed = (over: Partial<PassFailed> = {}): PassFailed => {
  const { result: _, kind: __, ...header } = refusedCommand();
  return {
    ...header,
    decisionId: 'decision-1',
    inventoryId: 'inventory-1',
    type: 'fleetgc.node.pass-failed',
    id: passFailedId({ nodeInstance: command.nodeInstance, commandId: 'command-1' }, 'image-gc-failed'),
    problem: 'image-gc-failed',
    message: 'it failed',
    removed: 0,
    failed: 1,
    measured: null,
    target: null,
    ...over,
  };
};
const distrusted = (commandId: string) =>
  refusedCommand({
    commandId,
    result: { outcome: 'refused', reason: 'not-trusted', message: 'it carries no signature' },
  });

describe('that a pass failed', () => {
  const taken = (over: Partial<PassFailed> = {}) =>
    takeAnswer(openAccount(command, placeOf(at('commands', 5))), {
      event: passFailed(over),
      place: placeOf(at('results', 9)),
    });

  test('agrees with its command where its id follows from it', () => {
    expect(taken()).toBeNull();
  });

  test.each<Partial<PassFailed>>([{ id: 'another' }, { problem: 'free-disk-space-failed' }])(
    'does not where it does not: %o',
    (over) => {
      expect(taken(over)).toEqual({
        kind: 'result-differs',
        message: 'its id does not follow from its command',
      });
    },
  );
});

test('only the refusal of a command that nobody signed says that it was not trusted', () => {
  expect(isDistrust(distrusted('x'))).toBe(true);
  expect(isDistrust(refusedCommand())).toBe(false);
  expect(isDistrust(passFailed())).toBe(false);
});

test('a refusal may be told again at another time, and nothing else', () => {
  const [first, later] = [instant(), instant({ sinceBootMs: 1 })].map((when) => refusedCommand({ at: when }));
  if (first === undefined || later === undefined) throw new Error('both are there');
  expect(steadyContent(first, first)).toBe(steadyContent(later, later));
  const [failed, again] = [passFailed(), passFailed({ at: instant({ sinceBootMs: 1 }) })];
  expect(steadyContent(failed, failed)).not.toBe(steadyContent(again, again));
});

test('what has no value is named as the executor names it', () => {
  expect(namelessId(at('commands', 5, 0, { value: null }))).toBe(unreadableCommandId(null));
});

test('what is no command is named by its id where it has one, and by its bytes', () => {
  const record = at('commands', 5);
  const names = (value: unknown) =>
    namesOfUnreadable(record, { cause: 'wrong-schema', message: 'it is none', value });
  expect(names({ id: 'command-7' })).toEqual(['command-7', namelessId(record)]);
  for (const value of [{ id: 7 }, {}, null, undefined, 'id', 7])
    expect(names(value)).toEqual([namelessId(record)]);
});

describe('an answer to a record from before the range that no executor believed', () => {
  const late = () => {
    const { collector, counts, deviations } = findings();
    const told = () => collector.found().deviations.total;
    return { counts, deviations, told, answers: new LateAnswers(collector, ALL) };
  };
  const record = at('commands', 2);

  test('is one of earlier commands once the record is read, whether it is a command or not', () => {
    for (const read of [
      (answers: LateAnswers) => answers.commanded(command, record),
      (answers: LateAnswers) => answers.unreadable(namelessId(record)),
    ]) {
      const { answers, counts, deviations } = late();
      answers.add({ event: distrusted(namelessId(record)), place: placeOf(at('results', 9)) });
      read(answers);
      answers.end();
      expect({ ofEarlier: counts.ofEarlier, told: deviations() }).toEqual({ ofEarlier: 1, told: [] });
    }
  });

  test('waits with the most of its kind, and more are told at once', () => {
    const { answers, counts, told } = late();
    for (let index = 0; index <= 10_000; index += 1)
      answers.add({
        event: refusedCommand({ commandId: `c-${index}` }),
        place: placeOf(at('results', index)),
      });
    expect([told(), answers.areThere(), counts.ofEarlier]).toEqual([1, true, 0]);
    answers.end();
    expect([told(), answers.areThere()]).toEqual([10_001, false]);
  });

  test('is not where it says something else of a command that can be read', () => {
    const { answers, counts, deviations } = late();
    answers.add({
      event: refusedCommand({ commandId: namelessId(record) }),
      place: placeOf(at('results', 9)),
    });
    answers.commanded(command, record);
    answers.end();
    expect({ ofEarlier: counts.ofEarlier, told: deviations() }).toEqual({
      ofEarlier: 0,
      told: ['not-commanded 9'],
    });
  });
});
