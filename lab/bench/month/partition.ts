import { sha256Hex } from '../../../packages/canonical/ids.ts';
import { containerGcHandler } from '../../../packages/deciders/container-gc/decider.ts';
import { imageGcHandler } from '../../../packages/deciders/image-gc/decider.ts';
import { type PressureEvent, pressureHandler } from '../../../packages/deciders/pressure/decider.ts';
import { nodeOutput, type Output, type PureHandler } from '../../../packages/decision/handler.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { nodeSource, serviceSource } from '../../../packages/records/publisher.ts';
import type { EventOf } from '../../../schemas/events/topics.ts';
import { type Appending, createAppending } from './append.ts';
import { carryOut } from './executor.ts';
import { diskStatsOf, inventoryOf } from './facts.ts';
import { liveBefore, passTime } from './life.ts';
import { DISK_STATS_EVERY_MS, INVENTORY_EVERY_MS, type Month, nodesOf } from './month.ts';
import type { World } from './world.ts';

/** How long a service takes to answer, by the log's clock. */
const ANSWER_MS = { order: 6, inventory: 20, decision: 9, command: 3 } as const;

/** What is to be published next, after what it follows from. */
interface Next {
  readonly output: Output;
  readonly source: string;
  readonly afterMs: number;
  readonly cause: LogRecord | null;
}

/** What lies on the topics of policies. */
export function* policyRecords({ policies, seed }: Month): Generator<LogRecord, void> {
  const append = createAppending(`policies of ${seed}`);
  for (const { output, atMs } of policies.records)
    yield append({ output, atMs, source: '/fleetgc/operator', cause: null });
}

interface Living {
  readonly world: World;
  /** The looks that it had. */
  looks: number;
  nextMs: number;
}

/** All records of one partition of the node's topics, in the order of the log, each made when it is asked for. */
export function* partitionRecords(month: Month, partition: number): Generator<LogRecord, void> {
  const append = createAppending(`partition ${partition} of ${month.seed}`);
  const living = nodesOf(month, partition).map(({ index, world }): Living => {
    liveBefore(world, month.catalogue, month.beginMs);
    const phase = (index / month.nodes + world.random() / 1_000) * DISK_STATS_EVERY_MS;
    return { world, looks: 0, nextMs: month.beginMs + Math.round(phase) };
  });
  for (let node = earliest(living); node && node.nextMs < month.endMs; node = earliest(living)) {
    yield* look(month, node, append);
    node.looks += 1;
    node.nextMs += DISK_STATS_EVERY_MS;
  }
}

function earliest(living: readonly Living[]): Living | undefined {
  let first: Living | undefined;
  for (const node of living) if (first === undefined || node.nextMs < first.nextMs) first = node;
  return first;
}

/** A node looks at itself, and everything follows that follows. */
function* look(
  month: Month,
  { world, looks, nextMs }: Living,
  append: Appending,
): Generator<LogRecord, void> {
  let atMs = nextMs;
  passTime(world, month.catalogue, { atMs, passedMs: looks === 0 ? 0 : DISK_STATS_EVERY_MS });
  const queue = firstOf(world, looks, atMs);
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { output, source, cause, afterMs } = next;
    const record = append({ output, source, cause, atMs: atMs + afterMs });
    atMs = record.timestampMs;
    yield record;
    queue.push(...following(month, world, { output, record }));
  }
}

function firstOf(world: World, looks: number, atMs: number): Next[] {
  const source = nodeSource(world.identity);
  const stats = {
    output: nodeOutput('diskStats', diskStatsOf(world, atMs)),
    source,
    afterMs: 2,
    cause: null,
  };
  if ((looks * DISK_STATS_EVERY_MS) % INVENTORY_EVERY_MS !== 0) return [stats];
  const output = nodeOutput('inventory', inventoryOf(world, atMs, null));
  return [stats, { output, source, afterMs: ANSWER_MS.inventory, cause: null }];
}

interface Published {
  readonly output: Output;
  readonly record: LogRecord;
}

/** What deciders, agent and executor make of a record. */
function following(month: Month, world: World, { output, record }: Published): readonly Next[] {
  const { event } = output;
  const { timestampMs } = record;
  const source = nodeSource(world.identity);
  switch (event.type) {
    case 'fleetgc.node.disk-stats':
    case 'fleetgc.node.reclaim-continues':
      return decided(month, { handler: pressureHandler, name: 'pressure' }, event, record);
    case 'fleetgc.node.inventory':
      return [
        ...decided(month, { handler: containerGcHandler, name: 'container-gc' }, event, record),
        ...decided(month, { handler: imageGcHandler, name: 'image-gc' }, event, record),
      ];
    case 'fleetgc.node.observe': {
      const inventory = nodeOutput('inventory', inventoryOf(world, timestampMs, event.reclaim));
      return [{ output: inventory, source, afterMs: ANSWER_MS.inventory, cause: record }];
    }
    case 'fleetgc.node.command':
      return carryOut(world, event, timestampMs).map((done) => ({ ...done, source, cause: record }));
    default:
      return [];
  }
}

interface Decider<Event> {
  readonly name: string;
  readonly handler: (policies: () => ReturnType<Month['policies']['setAt']>) => PureHandler<Event>;
}

function decided<Event extends EventOf<'inventory'> | PressureEvent>(
  { policies }: Month,
  { name, handler }: Decider<Event>,
  event: Event,
  record: LogRecord,
): readonly Next[] {
  const { topic, partition, offset, value, timestampMs } = record;
  const position = { topic, partition, offset: String(offset), sha256: sha256Hex(value ?? '') };
  const stages = handler(() => policies.setAt(timestampMs))({ event, position });
  return stages.flat().map((output) => ({
    output,
    source: serviceSource(name),
    afterMs: output.topic === 'decisions' ? ANSWER_MS.decision : ANSWER_MS.command,
    cause: record,
  }));
}
