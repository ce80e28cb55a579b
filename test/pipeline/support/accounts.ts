import { expect } from 'vitest';
import type { Command } from '../../../schemas/command.ts';
import { commandResults, objectResults } from './events.ts';
import type { Pipeline } from './pipeline.ts';

/** The same event may lie on the log twice; here each counts once. */
const once = <T extends { readonly id: string }>(events: readonly T[]): T[] => [
  ...new Map(events.map((event) => [event.id, event])).values(),
];

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

/** Results that say "removed", one for each object that went. */
export async function expectRemovedOnce(pipeline: Pipeline): Promise<void> {
  const removed = once(await objectResults(pipeline)).filter(({ result }) => result.outcome === 'removed');
  const ids = removed.map(({ object }) => object.id);
  expect(ids.toSorted()).toEqual([...new Set(ids)].toSorted());
}
