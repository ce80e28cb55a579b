import { describe, expect, test } from 'vitest';
import { nodeOutput, type Output } from '../../../../packages/decision/handler.ts';
import { commandResultId, objectResultId } from '../../../../packages/decision/result-ids.ts';
import { partitionOf } from '../../../../packages/log/partition.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { inventory } from '../../../fixtures/inventory.ts';
import { observe } from '../../../fixtures/observe.ts';
import { decision } from '../../../fixtures/outputs.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import {
  objectResult,
  pressureUnrelieved,
  reclaimGoesOn,
  refusedCommand,
} from '../../../fixtures/results.ts';
import { DAY, HOUR, MINUTE, NOW } from '../../../fixtures/time.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { logOf } from '../support/archives.ts';
import { named, verify } from '../support/verify-recording.ts';

const COMMAND = imageRemoval(['a'], { id: 'command' });
const { nodeInstance } = COMMAND;
const ABOUT = { nodeInstance, commandId: COMMAND.id };
const [OBJECT] = COMMAND.items.map(({ kind, id }) => ({ kind, id }));
if (OBJECT === undefined) throw new Error('the command names an object');
const REMOVED = nodeOutput(
  'results',
  objectResult({
    commandId: COMMAND.id,
    id: objectResultId(ABOUT, 0, OBJECT),
    object: OBJECT,
    rule: 'D10',
  }),
);
const REFUSED = nodeOutput(
  'results',
  refusedCommand({ commandId: COMMAND.id, id: commandResultId(ABOUT), decisionId: COMMAND.decisionId }),
);

type Step = readonly [afterMs: number, output: Output, rewrite?: (text: string) => string];

/** What lies before the beginning of the range has a time before zero. */
async function verified(steps: readonly Step[]) {
  const offsets = new Map<string, bigint>();
  const records = steps.map(([afterMs, output, rewrite]): LogRecord => {
    const record = outgoing(output);
    const offset = offsets.get(record.topic) ?? 0n;
    offsets.set(record.topic, offset + 1n);
    const value = rewrite === undefined ? record.value : Buffer.from(rewrite(String(record.value)));
    const partition = partitionOf(record.topic, record.key);
    return { ...record, value, partition, offset, timestampMs: NOW + afterMs };
  });
  const found = await verify(logOf(records), { fromMs: NOW, toMs: null }, undefined, false);
  return { found, told: named(found).filter((name) => !name.startsWith('undecided')) };
}

const unreadable = (text: string): string => text.replace('"lifetimeMs"', '"life"');

describe('a command from before the range', () => {
  const commanded = nodeOutput('commands', COMMAND);

  test.each([HOUR, 3 * DAY])('is known to its answers, %i ms later', async (beforeMs) => {
    const { found, told } = await verified([
      [-beforeMs, commanded],
      [MINUTE, REMOVED],
    ]);
    expect([told, found.counts.ofEarlier, found.counts.commands]).toEqual([[], 1, 0]);
  });

  test('that is none is refused by its id, whenever it lay there', async () => {
    for (const [beforeMs, ofEarlier] of [
      [HOUR, 0],
      [3 * DAY, 1],
    ] as const) {
      const { found, told } = await verified([
        [-beforeMs, commanded, unreadable],
        [MINUTE, REFUSED],
      ]);
      expect([told, found.counts.ofEarlier]).toEqual([[], ofEarlier]);
    }
  });

  test('has no more results than it counts', async () => {
    const nothing = { removed: 0, notFound: 0, refused: 0, failed: 0, notNeeded: 0, notDone: 0 };
    const done = refusedCommand({
      commandId: COMMAND.id,
      id: commandResultId(ABOUT),
      result: { outcome: 'done', ...nothing, measured: null, estimatedBytes: null, targetReached: null },
    });
    const { told } = await verified([
      [-HOUR, commanded],
      [MINUTE, REMOVED],
      [2 * MINUTE, nodeOutput('results', done)],
    ]);
    expect(told).toEqual(['result-missing gc.node.results@1']);
  });

  test('that another answer names is not there', async () => {
    const other = objectResult({ commandId: 'another', id: 'x' });
    const { told } = await verified([
      [-HOUR, commanded],
      [MINUTE, nodeOutput('results', other)],
    ]);
    expect(told).toEqual(['not-commanded gc.node.results@0']);
  });
});

describe('an inventory of a reclaim', () => {
  const FIRST = reclaim({ step: 'containers' });
  const answer = (carried = FIRST) => nodeOutput('inventory', inventory({ reclaim: carried }));
  const other = reclaim({ ...FIRST, target: { ...FIRST.target, atLeast: '400' } });
  const ordered = nodeOutput('observe', observe({ reclaim: FIRST }));

  test('answers an order from before the range', async () => {
    expect(
      (
        await verified([
          [-HOUR, ordered],
          [MINUTE, answer()],
        ])
      ).told,
    ).toEqual([]);
    expect(
      (
        await verified([
          [-HOUR, ordered],
          [MINUTE, answer(other)],
        ])
      ).told,
    ).toEqual(['output-differs gc.node.inventory@0']);
  });

  test('answers an order of the range, and that counts once however often it lies there', async () => {
    const aboutInventories = async (carried = FIRST) => {
      const { found, told } = await verified([
        [MINUTE, ordered],
        [MINUTE + 1, ordered],
        [2 * MINUTE, answer(carried)],
      ]);
      expect(found.counts).toMatchObject({ orders: 1, duplicates: 1 });
      return told.filter((name) => name.includes('inventory'));
    };
    expect(await aboutInventories()).toEqual([]);
    expect(await aboutInventories(other)).toEqual(['output-differs gc.node.inventory@0']);
  });

  test('answers no order that nobody can read', async () => {
    expect(
      (
        await verified([
          [-HOUR, ordered, unreadable],
          [MINUTE, answer()],
        ])
      ).told,
    ).toEqual(['not-decided gc.node.inventory@0']);
  });
});

test('a decision from right before the range that began a reclaim is known where orders were made anew', async () => {
  const first = reclaim({ step: 'containers' });
  const begun = decision({
    decider: { name: 'pressure', version: '1' },
    outcome: 'ordered',
    reclaim: first,
    outputIds: ['observe-1'],
  });
  const other = reclaim({ ...first, target: { ...first.target, atLeast: '400' } });
  const anew = nodeOutput('observe', observe({ id: 'observe-9', reclaim: reclaim({ id: 'reclaim-9' }) }));
  const told = async (carried = first) => {
    const steps: readonly Step[] = [
      [2 * MINUTE, anew],
      [-MINUTE, nodeOutput('decisions', begun)],
      [MINUTE, nodeOutput('inventory', inventory({ reclaim: carried }))],
    ];
    return (await verified(steps)).told.filter((name) => name.includes('inventory'));
  };
  expect(await told()).toEqual([]);
  expect(await told(other)).toEqual(['output-differs gc.node.inventory@0']);
});

test('that a reclaim ended is no word of a decider unless it was decided', async () => {
  const ended = nodeOutput('decisions', pressureUnrelieved({ id: 'unrelieved-9' }));
  expect((await verified([[MINUTE, ended]])).told).toEqual(['not-decided gc.node.decisions@0']);
});

test('a reclaim that goes on is decided on, and one that ended is not', async () => {
  const undecided = async (first: Output): Promise<readonly string[]> => {
    const goesOn = reclaimGoesOn({ id: 'continues-2', commandId: 'command-2' });
    const on = { ...decision().input, topic: 'gc.node.results', offset: '1', id: goesOn.id };
    const by = { decider: { name: 'pressure', version: '1' }, outcome: 'nothing-to-do' } as const;
    const { found } = await verified([
      [MINUTE, first],
      [2 * MINUTE, nodeOutput('results', goesOn)],
      [3 * MINUTE, nodeOutput('decisions', decision({ ...by, input: on }))],
    ]);
    return named(found).filter((name) => name.startsWith('undecided'));
  };
  expect(await undecided(nodeOutput('results', reclaimGoesOn()))).toEqual(['undecided gc.node.results@0']);
  expect(await undecided(nodeOutput('results', pressureUnrelieved()))).toEqual([]);
});
