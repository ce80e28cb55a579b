import { beforeAll, describe, expect, test, vi } from 'vitest';
import { canonicalJson } from '../../../../../packages/canonical/ids.ts';
import type { Output } from '../../../../../packages/decision/handler.ts';
import { clusterOutput } from '../../../../../packages/decision/handler.ts';
import { unreadableCommandId } from '../../../../../packages/decision/rejected-orders.ts';
import {
  clusterCommandResultId,
  clusterObjectResultsId,
  clusterRejectedResultId,
} from '../../../../../packages/decision/result-ids.ts';
import type { LogRecord } from '../../../../../packages/log/port.ts';
import type { ClusterCommand } from '../../../../../schemas/events/cluster-command.ts';
import type { ClusterObjectResults } from '../../../../../schemas/events/cluster-result.ts';
import type { Ownership } from '../../../../../schemas/events/ownership.ts';
import { TOPICS, type TopicId } from '../../../../../schemas/events/topics.ts';
import { CLUSTER } from '../../../../fixtures/cluster.ts';
import { candidate, owner, ownership } from '../../../../fixtures/ownership.ts';
import { MINUTE } from '../../../../fixtures/time.ts';
import { TEST_BOUND_MS } from '../../../../pipeline/support/pipeline.ts';
import { logOf } from '../../support/archives.ts';
import {
  begun,
  type ClusterHistory,
  commandIn,
  commandResult,
  decisionIn,
  objectResults,
} from '../../support/cluster-history.ts';
import { named, verify } from '../../support/verify-recording.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS, hookTimeout: TEST_BOUND_MS });

const doomed = (uid: string) => candidate({ object: { uid }, references: [owner('o', { state: 'gone' })] });
const held = (uid: string) => candidate({ object: { uid }, references: [owner('p')] });
const fact = (id: string, candidates = [doomed('x'), held('y'), doomed('z')]): Ownership =>
  ownership({ id, candidates });

/** A fact that leads to a command, its results, a fact that leads to nothing, and the time after them. */
function lived(carryOut: (log: ClusterHistory, command: ClusterCommand) => void): ClusterHistory {
  const log = begun();
  carryOut(log, commandIn(log.decide(fact('fact-1')).command));
  log.decide(fact('fact-2', [held('y')]));
  log.nowMs += 30 * MINUTE;
  for (const id of ['fact-3', 'fact-4']) {
    log.decide(fact(id, [held('y')]));
    log.nowMs += 2 * MINUTE;
  }
  return log;
}

const found = (records: readonly LogRecord[]) => verify(logOf(records));

/** The same records with another value of one of them. */
const changed = (records: readonly LogRecord[], one: LogRecord, event: Output['event']): LogRecord[] =>
  records.map((record) =>
    record === one
      ? {
          ...record,
          value: Buffer.from(canonicalJson(event)),
          headers: { ...record.headers, ce_id: event.id },
        }
      : record,
  );

const onTopic = (records: readonly LogRecord[], topicId: TopicId): LogRecord[] =>
  records.filter(({ topic }) => topic === TOPICS[topicId].name);
const first = (records: readonly LogRecord[], topicId: TopicId): LogRecord => {
  const [record] = onTopic(records, topicId);
  if (record === undefined) throw new Error(`there is nothing on ${topicId}`);
  return record;
};

let records: readonly LogRecord[];
beforeAll(() => {
  records = lived((log, command) => log.carryOut(command)).records;
});

test('what happened as it should is verified, from the fact to the last result', async () => {
  const verified = await found(records);
  expect(named(verified)).toEqual([]);
  expect(verified.counts).toMatchObject({
    decisions: 4,
    verified: 4,
    commands: 1,
    results: 2,
    removals: 2,
    expired: 0,
    outOfRange: 0,
  });
});

describe('decisions', () => {
  test('one on other bytes than those on the log deviates', async () => {
    const one = first(records, 'clusterOwnership');
    const other = changed(records, one, fact('fact-1', [held('x'), held('y'), held('z')]));
    expect(named(await found(other))).toContain(`input-changed gc.cluster.decisions@0`);
  });

  test('one that says otherwise than its decider deviates', async () => {
    const one = first(records, 'clusterDecisions');
    const decision = decisionIn(one);
    const kept = decision.verdicts.map((verdict) => ({ ...verdict, rule: 'D3' }));
    const other = changed(records, one, { ...decision, verdicts: kept });
    expect(named(await found(other))).toContain('decided-differently gc.cluster.decisions@0');
  });

  test('a fact that was passed over deviates', async () => {
    const one = onTopic(records, 'clusterDecisions')[1];
    const without = records.filter((record) => record !== one);
    expect(named(await found(without))).toContain('undecided gc.cluster.ownership@1');
  });
});

describe('commands', () => {
  test('one that no decision lists deviates', async () => {
    const log = lived(() => undefined);
    const command = commandIn(first(log.records, 'clusterCommands'));
    log.add(clusterOutput('clusterCommands', { ...command, id: 'command-forged' }));
    log.nowMs += 30 * MINUTE;
    log.decide(fact('fact-5', [held('y')]));
    expect(named(await found(log.records))).toContain('not-decided gc.cluster.commands@1');
  });

  test('one that names more than was decided deviates', async () => {
    const one = first(records, 'clusterCommands');
    const command = commandIn(one);
    const [item] = command.items;
    if (item === undefined) throw new Error('it names objects');
    const more = { ...item, object: { ...item.object, uid: 'y' } };
    const other = changed(records, one, { ...command, items: [...command.items, more] });
    const names = named(await found(other));
    expect(names).toContain('output-differs gc.cluster.commands@0');
    expect(names).toContain('kept-object gc.cluster.commands@0');
  });

  test('one that was decided and is not there deviates', async () => {
    const without = records.filter(({ topic }) => topic !== TOPICS.clusterCommands.name);
    expect(named(await found(without))).toContain('output-missing gc.cluster.decisions@0');
  });
});

describe('results', () => {
  const carriedOut = async (
    over: (command: ClusterCommand) => NonNullable<Parameters<ClusterHistory['carryOut']>[1]>,
  ) => named(await found(lived((log, command) => log.carryOut(command, over(command))).records));

  test('those of no command deviate', async () => {
    const other = { commandId: 'command-none' };
    const names = await carriedOut((command) => ({
      objects: {
        ...other,
        id: clusterObjectResultsId({ ...CLUSTER, ...other }, objectResults(command).objects),
      },
      whole: { ...other, id: clusterCommandResultId({ ...CLUSTER, ...other }) },
    }));
    expect(names).toEqual(
      expect.arrayContaining(['not-commanded gc.cluster.results@0', 'not-commanded gc.cluster.results@1']),
    );
  });

  test('one about an object that the command does not name deviates', async () => {
    const names = await carriedOut((command) => {
      const objects = objectResults(command).objects.map((told) => ({
        ...told,
        object: { ...told.object, uid: told.object.uid === 'x' ? 'y' : told.object.uid },
      }));
      return { objects: { objects } };
    });
    expect(names).toContain('not-commanded gc.cluster.results@0');
  });

  test.each<{ name: string; over: (command: ClusterCommand) => Partial<ClusterObjectResults> }>([
    { name: 'another decision', over: () => ({ decisionId: 'decision-other' }) },
    { name: 'an id that does not follow', over: () => ({ id: 'results-other' }) },
    {
      name: 'another rule than the command',
      over: (command) => ({
        objects: objectResults(command).objects.map((told) => ({ ...told, rule: 'D11' })),
      }),
    },
    {
      name: 'another action than the command',
      over: (command) => ({
        objects: objectResults(command).objects.map((told) => ({ ...told, action: 'finish' as const })),
      }),
    },
  ])('one with $name deviates', async ({ over }) => {
    expect(await carriedOut((command) => ({ objects: over(command) }))).toContain(
      'result-differs gc.cluster.results@0',
    );
  });

  test('a command that counts other objects than it has deviates', async () => {
    const names = await carriedOut(() => ({
      whole: { result: { outcome: 'done', counts: { removed: 1 } } },
    }));
    expect(names).toContain('result-differs gc.cluster.results@1');
  });

  test('an object without a result deviates, once the command is done', async () => {
    const log = lived((grown, command) => {
      grown.carryOut(command);
      const later = commandIn(grown.decide(fact('later')).command);
      grown.add(clusterOutput('clusterResults', commandResult(later)));
    });
    expect(named(await found(log.records))).toEqual(['result-missing gc.cluster.results@2']);
  });

  test('a refusal ends a command, also that of another cluster of the name beside its own', async () => {
    const refused = { outcome: 'refused', reason: 'expired', message: 'too late' } as const;
    const log = lived((grown, command) =>
      grown.add(clusterOutput('clusterResults', { ...commandResult(command), result: refused })),
    );
    expect(named(await found(log.records))).toEqual([]);
    const beside = lived((grown, command) => {
      const other = { ...CLUSTER, clusterInstance: 'another' };
      const result = { outcome: 'refused', reason: 'other-instance', message: 'not ours' } as const;
      const id = clusterCommandResultId({ ...other, commandId: command.id });
      grown.add(clusterOutput('clusterResults', { ...commandResult(command), ...other, id, result }));
      grown.carryOut(command);
    });
    expect(named(await found(beside.records))).toEqual([]);
  });

  test('an order that was not believed has its refusal, which does not know its id', async () => {
    const turnedAway = lived((grown, command) => {
      const record = onTopic(grown.records, 'clusterCommands')[0];
      const commandId = unreadableCommandId(record?.value ?? null);
      const refused = { outcome: 'refused', reason: 'not-trusted', message: 'unsigned' } as const;
      const id = clusterRejectedResultId({ ...CLUSTER, commandId }, refused);
      const whole = { ...commandResult(command), id, commandId, decisionId: null, result: refused };
      grown.add(clusterOutput('clusterResults', whole));
    });
    expect(named(await found(turnedAway.records))).toEqual([]);
  });

  test('a refusal of what is no command is right, whether that lies in the range or before it', async () => {
    const log = lived((grown, command) => {
      const refused = { outcome: 'refused', reason: 'malformed', message: 'it is none' } as const;
      const id = clusterRejectedResultId({ ...CLUSTER, commandId: command.id }, refused);
      grown.add(clusterOutput('clusterResults', { ...commandResult(command), id, result: refused }));
    });
    const broken = log.records.map((record) =>
      record.topic === TOPICS.clusterCommands.name
        ? { ...record, value: Buffer.from(String(record.value).replace('"lifetimeMs"', '"life"')) }
        : record,
    );
    const told = named(await found(broken));
    expect(told).toContain('unreadable gc.cluster.commands@0');
    expect(told.filter((name) => name.includes(TOPICS.clusterResults.name))).toEqual([]);
    const fromMs = first(broken, 'clusterResults').timestampMs;
    expect(named(await verify(logOf(broken), { fromMs, toMs: null }))).toEqual([]);
  });

  test('two executors may find different things: what one deleted counts, whoever tells first, and the same told twice is one result', async () => {
    const log = lived((grown, command) => {
      const gone = objectResults(command).objects.map((told) => ({
        ...told,
        result: { outcome: 'not-found' as const },
      }));
      grown.carryOut(command, {
        objects: { objects: gone },
        whole: { result: { outcome: 'done', counts: { 'not-found': 2 } } },
      });
      grown.carryOut(command);
      grown.carryOut(command);
    });
    const verified = await found(log.records);
    expect(named(verified)).toEqual([]);
    expect(verified.counts).toMatchObject({ results: 3, duplicates: 3, removals: 2 });
  });

  test('a command that nobody answers is told, and no deviation', async () => {
    const verified = await found(lived(() => undefined).records);
    expect(named(verified)).toEqual([]);
    expect(verified.counts.expired).toBe(1);
    expect(verified.unanswered.first).toMatchObject([{ kind: 'node-lives-on', node: CLUSTER.cluster }]);
  });
});

test('what an executor of a cluster tells has to be readable, and counts as removed only what is', async () => {
  const log = lived((grown, command) => {
    const [one, ...others] = objectResults(command).objects;
    if (one === undefined) throw new Error('the command names objects');
    const gone = { ...one, result: { outcome: 'not-found' as const } };
    grown.carryOut(command, {
      objects: { objects: [gone, ...others] },
      whole: { result: { outcome: 'done', counts: { removed: 1, 'not-found': 1 } } },
    });
  });
  const result = first(log.records, 'clusterResults');
  const broken = { ...result, offset: 9n, timestampMs: log.nowMs, value: Buffer.from('{}') };
  const verified = await found([...log.records, broken]);
  expect(named(verified)).toEqual([
    'unreadable gc.cluster.results@9',
    'records-missing gc.cluster.results@1',
  ]);
  expect(verified.counts).toMatchObject({ results: 2, removals: 1 });
});

test('what an agent tells of a cluster beside has to be readable', async () => {
  const log = lived((grown, command) => grown.carryOut(command));
  const census = { ...first(log.records, 'clusterResults'), topic: TOPICS.clusterCensus.name };
  const names = named(await found([...log.records, { ...census, offset: 0n, value: Buffer.from('{}') }]));
  expect(names).toEqual(['unreadable gc.cluster.census@0']);
});

test('a range that begins between a decision and its command shows what is wrong with that', async () => {
  const command = first(records, 'clusterCommands');
  const range = { fromMs: command.timestampMs, toMs: command.timestampMs + 1 };
  expect(named(await verify(logOf(records), range))).toEqual([]);
  const longer = { ...commandIn(command), lifetimeMs: 1 };
  expect(named(await verify(logOf(changed(records, command, longer)), range))).toEqual([
    'output-differs gc.cluster.commands@0',
  ]);
});

test('a range that begins after a command has its results verified all the same', async () => {
  const fromMs = first(records, 'clusterResults').timestampMs;
  const verified = await verify(logOf(records), { fromMs, toMs: null });
  expect(named(verified)).toEqual([]);
  expect(verified.counts).toMatchObject({ results: 2, ofEarlier: 2, outOfRange: 0 });
});
