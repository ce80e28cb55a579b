import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openStateDirectory } from '../../../../packages/machine/state-directory.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import { type Command, MAX_COMMAND_BYTES, MAX_COMMAND_ITEMS } from '../../../../schemas/events/command.ts';
import {
  accepted,
  answered,
  EMPTY_JOURNAL,
  finished,
  type ItemProgress,
  type JournalEntry,
  knows,
  MAX_APPLIED_IDS,
  MAX_REFUSED_IDS,
  MAX_UNPUBLISHED,
  MAX_WAITING,
  openJournal,
} from '../../../../services/node/executor/journal.ts';
import { resultOutput } from '../../../../services/node/executor/reports.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { digestOf } from '../../../fixtures/listing.ts';
import { toTarget } from '../../../fixtures/reclaim.ts';
import { refusedCommand } from '../../../fixtures/results.ts';
import { instant } from '../../../fixtures/time.ts';
import { logLines } from '../../../support/log-lines.ts';
import { TRACEPARENT } from '../../../support/logs/log-record.ts';
import { nextLook } from '../../../support/next-look.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { addContainer, addImages, executorNode, until } from './support/executor-node.ts';
import { diskFull, memoryState } from './support/memory-state.ts';

const entry = (id: string, ids: readonly string[] = ['a']): JournalEntry => {
  const command = imageRemoval(ids, { id });
  return {
    command,
    trace: null,
    signedBy: null,
    before: null,
    items: command.items.map(() => ({ state: 'waiting' })),
  };
};
/** In bytes, as it lies on the log. */
function asLargeAsMayBe(command: Command): Command {
  const missing = MAX_COMMAND_BYTES - JSON.stringify(command).length;
  return { ...command, policy: { ...command.policy, name: 'x'.repeat(missing) } };
}

const EXPIRED = { outcome: 'refused', reason: 'expired' } as const;
const lines = logLines();
const logger = createLogger({ service: 'test', level: 'info' }, lines);
const now = instant();

describe('the journal', () => {
  test('is kept over restarts', () => {
    const directory = openStateDirectory(temporaryDirectory(), 'machine');
    openJournal({ directory, now, logger }).update((state) => accepted(state, entry('one')));
    const { state } = openJournal({ directory, now, logger });
    expect(state().entries).toEqual([entry('one')]);
    expect(knows(state(), 'one')).toBe(true);
  });

  test('has room for the largest command in hand, all that may wait, and as many results as may', () => {
    const directory = openStateDirectory(temporaryDirectory(), 'machine');
    const journal = openJournal({ directory, now, logger });
    const ids = Array.from({ length: MAX_COMMAND_ITEMS }, (_, n) => digestOf(String(n)));
    const done: ItemProgress = { state: 'done', outcome: 'not-needed' };
    const trace = { traceparent: TRACEPARENT, tracestate: 'x'.repeat(512) };
    for (let n = 0; n <= MAX_WAITING; n++)
      journal.update((state) => {
        const { command, ...same } = entry(`command-${n}`, ids);
        const items = command.items.map(() => done);
        return accepted(state, { ...same, trace, items, command: asLargeAsMayBe(command) });
      });
    const idsOf = (kind: string, count: number) =>
      Array.from({ length: count }, (_, n) => `command-${digestOf(`${kind} ${n}`).slice(7, 39)}`);
    journal.update((state) => ({
      ...state,
      unpublished: Array.from({ length: MAX_UNPUBLISHED }, () => ({
        trace: null,
        output: resultOutput(refusedCommand({ result: { ...EXPIRED, message: 'x'.repeat(500) } })),
      })),
      appliedIds: idsOf('applied', MAX_APPLIED_IDS),
      refusedIds: idsOf('refused', MAX_REFUSED_IDS),
    }));
    expect(journal.kept()).toBe('disk');
  });

  test('remembers the last 1,000 ids of commands that ended', () => {
    let state = EMPTY_JOURNAL;
    for (let n = 0; n <= MAX_APPLIED_IDS; n++) state = finished(accepted(state, entry(`c${n}`)), `c${n}`, []);
    expect(state.appliedIds).toHaveLength(MAX_APPLIED_IDS);
    expect([knows(state, 'c0'), knows(state, 'c1'), knows(state, `c${MAX_APPLIED_IDS}`)]).toEqual([
      false,
      true,
      true,
    ]);
  });

  test('knows a command that it holds, and those that ended, whatever was refused since', () => {
    let state = finished(accepted(accepted(EMPTY_JOURNAL, entry('ended')), entry('held')), 'ended', []);
    for (let n = 0; n <= MAX_REFUSED_IDS; n++) state = answered(state, `refused ${n}`, []);
    for (let n = 0; n <= MAX_APPLIED_IDS; n++) {
      if (n === 1) expect(knows(state, 'ended')).toBe(true);
      state = finished(accepted(state, entry(`c${n}`)), `c${n}`, []);
    }
    expect(knows(state, 'held')).toBe(true);
    expect(state.refusedIds).toHaveLength(MAX_REFUSED_IDS);
    expect([knows(state, 'refused 0'), knows(state, 'refused 1')]).toEqual([false, true]);
  });

  test('remembers a command from its end on, however many ended while it was in hand', () => {
    let state = accepted(EMPTY_JOURNAL, entry('long'));
    for (let n = 0; n <= MAX_APPLIED_IDS; n++) state = finished(accepted(state, entry(`c${n}`)), `c${n}`, []);
    expect(knows(finished(state, 'long', []), 'long')).toBe(true);
  });

  test.each([
    { name: 'fewer', items: [{ state: 'done', outcome: 'removed' }], rest: ['waiting'] },
    { name: 'no', items: [], rest: ['waiting', 'waiting'] },
  ])(
    'that knows of $name objects than a command names has the others judged anew',
    async ({ items, rest }) => {
      const node = executorNode();
      const ids = addImages(node, ['a', 'b'], 100n);
      const command = imageRemoval(ids, { takenAt: node.clock.now() });
      node.state.files.set(
        'journal',
        JSON.stringify({ ...EMPTY_JOURNAL, entries: [{ ...entry('x'), command, items }] }),
      );
      const opened = openJournal({ directory: node.state, now, logger });
      expect(opened.state().entries[0]?.items).toEqual([...items, ...rest.map((state) => ({ state }))]);
      const executor = node.start();
      await until('the result', () => node.result());
      await executor.stop();
      expect(node.runtime.gone).toEqual(ids.slice(items.length));
      expect(node.logLines.filter((line) => line.includes('journal repaired'))).toHaveLength(1);
    },
  );

  test('that knows of more objects than a command names, or of a command twice, has them once', () => {
    const memory = memoryState();
    const first = entry('one', ['a', 'b']);
    const longer = { ...first, items: [...first.items, { state: 'in-hand', since: now }] };
    const entries = [longer, entry('one'), entry('two')];
    memory.files.set('journal', JSON.stringify({ ...EMPTY_JOURNAL, entries }));
    expect(openJournal({ directory: memory, now, logger }).state().entries).toEqual([first, entry('two')]);
  });

  test.each([
    { name: 'is damaged', hurt: (path: string) => writeFileSync(path, Buffer.alloc(8192, 1)) },
    { name: 'is of another form', hurt: () => undefined },
  ])('that $name counts everything decided before now as overtaken', ({ name, hurt }) => {
    const path = temporaryDirectory();
    const directory = openStateDirectory(path, 'machine');
    openJournal({ directory, now, logger }).update((state) => accepted(state, entry('one')));
    hurt(join(path, 'journal'));
    const memory = memoryState();
    memory.files.set('journal', '{"version":2}');
    const journal = openJournal({ directory: name === 'is damaged' ? directory : memory, now, logger });
    expect(journal.state().entries).toEqual([]);
    expect(journal.state().lastActions.image).toEqual({ at: now, commandId: '' });
    journal.update((state) => accepted(state, entry('two')));
    expect(journal.kept()).toBe('disk');
  });

  test('in a directory that is gone is kept in memory', () => {
    const path = temporaryDirectory();
    const directory = openStateDirectory(path, 'machine');
    rmSync(path, { recursive: true });
    const journal = openJournal({ directory, now, logger });
    journal.update((state) => accepted(state, entry('one')));
    expect(journal.kept()).toBe('memory');
    expect(journal.state().entries).toHaveLength(1);
  });
});

describe('when the disk is full', () => {
  test('a valid command is carried out with the journal in memory, and the result says so', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    const executor = node.start();
    node.state.beforeWrite = diskFull;
    await executor.carryOut(imageRemoval([a]));
    expect(node.runtime.gone).toEqual([a]);
    expect(node.published).toMatchObject([
      { type: 'fleetgc.node.removal-intent', journal: 'memory', object: { kind: 'image', id: a } },
      { type: 'fleetgc.node.object-result', journal: 'memory' },
      { type: 'fleetgc.node.command-result', journal: 'memory' },
    ]);
    expect(node.logLines.filter((line) => line.includes('journal kept in memory'))).toHaveLength(1);
  });

  test('nothing is removed before the log has taken that it is about to be', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    const executor = node.start();
    node.state.beforeWrite = diskFull;
    const back = Promise.withResolvers<void>();
    let isAsked = false;
    node.beforePublish = () => {
      isAsked = true;
      return back.promise;
    };
    await executor.receive(imageRemoval([a]));
    await until('the announcement', () => isAsked || undefined);
    for (let look = 0; look < 1_000; look++) await nextLook(1);
    expect(node.runtime.gone).toEqual([]);
    back.resolve();
    await until('the result', () => node.result());
    expect(node.runtime.gone).toEqual([a]);
  });

  test('no image goes while the result of the last one is neither on disk nor on the event log', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b'], 100n);
    const executor = node.start();
    node.state.beforeWrite = diskFull;
    const back = Promise.withResolvers<void>();
    // What is about to be removed is taken.
    node.beforePublish = () => (node.runtime.gone.length > 0 ? back.promise : undefined);
    await executor.receive(imageRemoval([a, b], { reclaim: toTarget('1000') }));
    await until('the first removal', () => (node.runtime.gone.length > 0 ? true : undefined));
    for (let look = 0; look < 3_000; look++) await nextLook(1);
    expect(node.runtime.gone).toEqual([a]);
    back.resolve();
    await until('the second removal', () => (node.runtime.gone.length > 1 ? true : undefined));
  });

  test('the journal goes back to disk as soon as there is room', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    const executor = node.start();
    node.state.beforeWrite = diskFull;
    node.runtime.after = (call) => {
      if (call.startsWith('removeImage')) node.state.beforeWrite = () => undefined;
    };
    await executor.carryOut(imageRemoval([a]));
    expect(node.published.at(-1)).toMatchObject({ journal: 'disk' });
  });

  test('the same command again, within the process, is still done once', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    const executor = node.start();
    node.state.beforeWrite = diskFull;
    await executor.carryOut(imageRemoval([a]));
    await executor.receive(imageRemoval([a]));
    expect(node.published).toHaveLength(3);
  });
});

describe('results', () => {
  test('stay in the journal until the log acknowledged them, over restarts', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.beforePublish = () => new Promise(() => undefined);
    const first = node.start();
    await first.receive(imageRemoval([a]));
    await until('the removal', () => (node.runtime.gone.length > 0 ? true : undefined));
    await first.stop();
    expect(node.published).toEqual([]);
    node.beforePublish = () => undefined;
    node.start();
    await until('the result', () => node.result());
    expect(node.outcomes()).toMatchObject({ [a]: { outcome: 'removed' } });
    expect(node.runtime.calls).toHaveLength(1);
  });

  test('name the command, its decision and its inventory', async () => {
    const node = executorNode();
    addContainer(node, 'x');
    await node.start().carryOut(imageRemoval(['gone']));
    expect(node.published).toMatchObject([
      {
        commandId: 'command-1',
        decisionId: 'decision-1',
        inventoryId: 'inventory-1',
        object: { kind: 'image', id: 'gone' },
        rule: 'D10',
      },
      { commandId: 'command-1', decisionId: 'decision-1', inventoryId: 'inventory-1', kind: 'image-removal' },
    ]);
  });
});
