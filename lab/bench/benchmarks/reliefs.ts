import type { z } from 'zod';
import { Command } from '../../../schemas/events/command.ts';
import { DiskStats } from '../../../schemas/events/disk-stats.ts';
import { Inventory } from '../../../schemas/events/inventory.ts';
import { Observe } from '../../../schemas/events/observe.ts';
import { ObjectResult } from '../../../schemas/events/result.ts';

/** A record of a topic, and when the broker took it. */
export interface Recorded {
  readonly event: unknown;
  readonly appendedAtMs: number;
}

type ReliefRecords = Readonly<
  Record<'diskStats' | 'observe' | 'inventory' | 'commands' | 'results', readonly Recorded[]>
>;

/** When an image was gone, by the node's clock; `undefined` where the runtime told nothing of it. */
export type Gone = (node: string, imageId: string) => number | undefined;

/** One reclaim, from the sample that began it to the first image that went. */
export interface Relief {
  /** By the node's clock, until the runtime had deleted it. */
  readonly sampleToRemovedMs: number;
  /** By the node's clock, until the executor had seen what that freed. */
  readonly sampleToResultMs: number;
  /** Between the records on the way, by the broker's clock. */
  readonly hopsMs: readonly number[];
}

interface Parsed<Event> {
  readonly event: Event;
  readonly appendedAtMs: number;
}

const parsed = <Schema extends z.ZodType>(
  schema: Schema,
  records: readonly Recorded[],
): readonly Parsed<z.infer<Schema>>[] =>
  records.flatMap(({ event, appendedAtMs }) => {
    const { success, data } = schema.safeParse(event);
    return success ? [{ event: data, appendedAtMs }] : [];
  });

/** The first image removed of each reclaim whose records are all there. */
export function reliefsOn(records: ReliefRecords, gone: Gone): readonly Relief[] {
  const stats = parsed(DiskStats, records.diskStats);
  const orders = parsed(Observe, records.observe);
  const inventories = parsed(Inventory, records.inventory);
  const results = parsed(ObjectResult, records.results).filter(
    ({ event }) => event.object.kind === 'image' && event.result.outcome === 'removed',
  );
  const firstRounds = parsed(Command, records.commands).filter(
    ({ event }) => event.kind === 'image-removal' && event.reclaim?.round === 1,
  );
  return firstRounds.flatMap((command) => {
    const { id, reclaim } = command.event;
    if (reclaim === null) return [];
    const isStep =
      (step: 'containers' | 'images') =>
      ({ event }: Parsed<Observe | Inventory>): boolean =>
        event.reclaim?.id === reclaim.id && event.reclaim.step === step && event.reclaim.round === 1;
    const sample = stats.find(({ event }) => event.id === reclaim.cause.eventId);
    const result = results.find(({ event }) => event.commandId === id);
    const way = [
      sample,
      orders.find(isStep('containers')),
      inventories.find(isStep('containers')),
      orders.find(isStep('images')),
      inventories.find(isStep('images')),
      command,
      result,
    ].flatMap((record) => record ?? []);
    if (sample === undefined || result === undefined || way.length < 7) return [];
    const goneMs = gone(result.event.node, result.event.object.id);
    if (goneMs === undefined) return [];
    const sampleMs = sample.event.takenAt.wallTimeMs;
    return [
      {
        sampleToRemovedMs: goneMs - sampleMs,
        sampleToResultMs: result.event.at.wallTimeMs - sampleMs,
        hopsMs: way
          .slice(1)
          .map(({ appendedAtMs }, hop) => appendedAtMs - (way[hop]?.appendedAtMs ?? Number.NaN)),
      },
    ];
  });
}
