import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Command } from '../../../../schemas/events/command.ts';
import { JournalState, MAX_REFUSED_IDS, MAX_WAITING } from '../../../../services/node/executor/journal.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import {
  addImages,
  type ExecutorNode,
  executorNode,
  type RunningExecutor,
  until,
} from './support/executor-node.ts';

const NAMES = ['a', 'b', 'c', 'd'];

/** A command whose first removal the runtime is still at, and so many refused commands since. */
async function inHandAndFlooded(refused: number) {
  const node = executorNode();
  const ids = addImages(node, NAMES);
  const removal = Promise.withResolvers<void>();
  node.runtime.before = (call) => (call === `removeImage ${ids[0]}` ? removal.promise : undefined);
  const running = node.start();
  await running.receive(imageRemoval(ids.slice(0, 3), { takenAt: node.clock.now() }));
  await until('the removal in hand', () => node.runtime.calls[0]);
  await flood(node, running, refused);
  return { node, ids, running, release: removal.resolve };
}

async function flood(node: ExecutorNode, { receive }: RunningExecutor, count: number): Promise<void> {
  const takenAt = { ...node.clock.now(), bootId: 'another' };
  for (let n = 0; n < count; n++) {
    await receive(imageRemoval(['x'], { id: `refused ${n}`, takenAt }));
    if (n % 50 === 0) await until('room for results', () => (unpublished(node) === 0 ? true : undefined));
  }
}

const journalOf = ({ state }: ExecutorNode): JournalState =>
  JournalState.parse(JSON.parse(state.files.get('journal') ?? ''));
const unpublished = (node: ExecutorNode): number => journalOf(node).unpublished.length;
const inJournal = (node: ExecutorNode): string[] => journalOf(node).entries.map(({ command }) => command.id);

test.each<[string, (ids: readonly string[]) => readonly string[]]>([
  ['fewer objects', (ids) => ids.slice(0, 1)],
  ['other objects', (ids) => ids.slice(3)],
  ['the same objects', (ids) => ids.slice(0, 3)],
])('an id that is in hand is not taken again with %s, whatever was refused since', async (_, named) => {
  const { node, ids, running, release } = await inHandAndFlooded(MAX_REFUSED_IDS + 1);
  await running.receive(imageRemoval(named(ids), { takenAt: node.clock.now(), decisionId: 'other' }));
  expect(inJournal(node)).toEqual(['command-1']);
  release();
  await until('the result', () => node.result());
  await running.stop();
  expect(Object.keys(node.outcomes())).toEqual(ids.slice(0, 3));
  expect(node.result()).toMatchObject({ removed: 3, notDone: 0 });
});

test('an id that ended is not taken again, whatever was refused since', async () => {
  const node = executorNode();
  const ids = addImages(node, NAMES);
  const running = node.start();
  await running.carryOut(imageRemoval(ids.slice(0, 1), { takenAt: node.clock.now() }));
  await flood(node, running, MAX_REFUSED_IDS + 1);
  await running.receive(imageRemoval(ids.slice(1), { takenAt: node.clock.now() }));
  await running.carryOut(imageRemoval(['none'], { id: 'marker', takenAt: node.clock.now() }));
  expect(node.runtime.gone).toEqual(ids.slice(0, 1));
});

test('whatever comes while a command is in hand, each of its removals is in hand on disk before the runtime is asked', async () => {
  const { node, ids, running, release } = await inHandAndFlooded(MAX_REFUSED_IDS + 1);
  const onDisk: unknown[] = [];
  node.runtime.before = (call) => {
    const index = ids.findIndex((id) => call === `removeImage ${id}`);
    if (index > 0) onDisk.push(journalOf(node).entries[0]?.items[index]?.state);
  };
  await running.receive(imageRemoval(ids.slice(0, 3), { takenAt: node.clock.now() }));
  await receiveMany(node, running);
  release();
  await until('the result', () => node.result());
  expect(onDisk).toEqual(['in-hand', 'in-hand']);
  expect(Object.keys(node.outcomes())).toEqual(ids.slice(0, 3));
});

test('a command that the worker began to look at is not pushed out, though nothing of it is in hand yet', async () => {
  const node = executorNode();
  const ids = addImages(node, NAMES);
  const own = node.takeInventory;
  const plan = Promise.withResolvers<void>();
  let isPlanning = false;
  node.takeInventory = async (...args) => {
    isPlanning = true;
    await plan.promise;
    return await own(...args);
  };
  const running = node.start();
  await running.receive(imageRemoval(ids, { takenAt: node.clock.now() }));
  await until('the plan', () => isPlanning || undefined);
  await receiveMany(node, running);
  expect(inJournal(node)).toHaveLength(MAX_WAITING + 1);
  expect(inJournal(node)[0]).toBe('command-1');
  plan.resolve();
  await until('the result', () => node.result());
  expect(node.result()).toMatchObject({ outcome: 'done', removed: 4 });
});

/** One more than may wait. */
async function receiveMany(node: ExecutorNode, { receive }: RunningExecutor): Promise<void> {
  const more = (n: number): Command =>
    imageRemoval(['none'], { id: `waiting ${n}`, takenAt: node.clock.now() });
  for (let n = 0; n <= MAX_WAITING; n++) {
    await receive(more(n));
    await setImmediate();
  }
}
