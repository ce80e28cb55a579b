import { partitionOf } from '../../../packages/log/partition.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { type Catalogue, fleetCatalogue } from '../../sim/fleet/catalogue.ts';
import { type MonthPolicies, monthPolicies } from './policies.ts';
import { createWorld, type World } from './world.ts';

/** What a month is made of: the same parameters give the same bytes. */
export interface MonthSize {
  readonly seed: number;
  readonly nodes: number;
  readonly days: number;
}

/** A fleet over some time. */
export interface Month extends MonthSize {
  readonly beginMs: number;
  readonly endMs: number;
  readonly catalogue: Catalogue;
  readonly policies: MonthPolicies;
}

export const HOUR_MS = 60 * 60 * 1000;
export const DAY_MS = 24 * HOUR_MS;
/** An agent tells of its disks each minute at least; here so often. */
export const DISK_STATS_EVERY_MS = 4 * HOUR_MS;
/** An agent lists everything every five minutes; here so often, and on order. */
export const INVENTORY_EVERY_MS = 8 * HOUR_MS;
/** Fixed, since the same seed is to give the same bytes. */
const BEGIN_MS = Date.UTC(2026, 0, 1);

/** A million records or a little more. */
export const WHOLE_MONTH: MonthSize = { seed: 20_260_101, nodes: 1_000, days: 30 };

export const createMonth = (size: MonthSize): Month => ({
  ...size,
  beginMs: BEGIN_MS,
  endMs: BEGIN_MS + size.days * DAY_MS,
  catalogue: fleetCatalogue(size.seed, BEGIN_MS),
  policies: monthPolicies(BEGIN_MS),
});

/** The nodes of one partition, each with the number that it has in the fleet. */
export function nodesOf({ seed, nodes, beginMs }: Month, partition: number): readonly IndexedWorld[] {
  return Array.from({ length: nodes }, (_, index) => ({
    index,
    world: createWorld(seed, index, beginMs),
  })).filter(({ world }) => partitionOf(TOPICS.inventory.name, nodeKey(world.identity)) === partition);
}

interface IndexedWorld {
  readonly index: number;
  readonly world: World;
}
