import { expect } from 'vitest';
import type { Command } from '../../../schemas/events/command.ts';
import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import { commandResults, objectResults } from './events.ts';
import type { Pipeline } from './pipeline.ts';

/** The same event may lie on the log twice; here each counts once. */
const once = <T extends { readonly id: string }>(events: readonly T[]): T[] => [
  ...new Map(events.map((event) => [event.id, event])).values(),
];

export async function allEnded(pipeline: Pipeline): Promise<boolean> {
  const ended = new Set((await commandResults(pipeline)).map(({ commandId }) => commandId));
  return (await pipeline.events('commands')).every(({ id }) => ended.has(id));
}

/** Every command has ended once: refused as a whole, or with one result for each of its objects, in their order. */
export async function expectEveryCommandAccounted(pipeline: Pipeline): Promise<void> {
  const commands = once(await pipeline.events('commands'));
  const endings = once(await commandResults(pipeline));
  const objects = once(await objectResults(pipeline));
  expect(endings.map(({ commandId }) => commandId).toSorted()).toEqual(
    commands.map(({ id }) => id).toSorted(),
  );
  const answered = (id: string): string[] =>
    objects.filter(({ commandId }) => commandId === id).map(({ object }) => object.id);
  for (const { commandId, result } of endings)
    expect(answered(commandId)).toEqual(result.outcome === 'refused' ? [] : itemsOf(commands, commandId));
}

const itemsOf = (commands: readonly Command[], id: string): string[] =>
  commands.filter((command) => command.id === id).flatMap(({ items }) => items.map((item) => item.id));

/** Ids of the runtime's objects of which it is told that they went, in that order; a repeated report counts once. */
export const removedOnce = async (pipeline: Pipeline): Promise<string[]> =>
  once(await objectResults(pipeline))
    .filter(({ object, result }) => result.outcome === 'removed' && !LOG_KINDS.includes(object.kind))
    .map(({ object }) => object.id);

const LOG_KINDS: readonly ObjectKind[] = ['pod-log-directory', 'log-symlink'];
