import { pause } from '../../process/back-off.ts';
import { toFleetGcError } from '../../process/errors.ts';
import { settleWork } from '../stopping.ts';
import { type SliceSource, serveSlices } from '../subscription.ts';
import { partitionDifference } from '../topic-differences.ts';
import { endFor } from './ends.ts';
import { LEASE_RENEW_MS, renewLease } from './lease.ts';
import type { Tenure } from './membership.ts';
import type { Position } from './positions.ts';
import { sliceSource } from './slice-source.ts';
import type { Statements } from './statements.ts';

/** The log is looked at this often even when nothing seems to have changed. */
const LOOK_MS = 1000;
const LEASE = 'lease';

/** Partitions that somebody added or took away behind our back. Ours stay the declared ones; somebody should know. */
function tellOfPartitions({ subscription, serving }: Tenure, statements: Statements): void {
  for (const topic of subscription.topics) {
    const difference = partitionDifference(topic, statements.countPartitions(topic), statements.creation);
    serving.problems.set(topic, difference === null ? null : difference.message);
  }
}

/** Who reads for a key has no group to keep. */
async function renew(tenure: Tenure): Promise<void> {
  const { core, subscription, member } = tenure;
  const { group, assignment } = subscription;
  if (assignment.kind === 'key')
    return await core.database.read((statements) => tellOfPartitions(tenure, statements));
  await core.database.write((statements) => {
    renewLease(statements, { group, member, nowMs: core.context.now() });
    tellOfPartitions(tenure, statements);
  });
}

async function renewOnce(tenure: Tenure): Promise<void> {
  const { serving, fail } = tenure;
  try {
    await renew(tenure);
    serving.problems.set(LEASE, null);
  } catch (error) {
    const { code, retry, message } = toFleetGcError(error);
    if (code === 'GROUP_LOST' || !retry) fail(error);
    else serving.problems.set(LEASE, message);
  }
}

async function keepLease(tenure: Tenure): Promise<void> {
  const { over } = tenure.serving;
  while (!over.aborted) {
    await pause(LEASE_RENEW_MS, over);
    if (!over.aborted) await renewOnce(tenure);
  }
}

/** The partitions that are being served right now. */
type Running = Map<Position, Promise<void>>;

function startServing(tenure: Tenure, position: Position, source: SliceSource, running: Running): void {
  const work = serveSlices(source, tenure.serving)
    .catch(tenure.fail)
    .finally(() => running.delete(position));
  running.set(position, work);
}

async function serveGrown(tenure: Tenure, sources: ReadonlyMap<Position, SliceSource>, running: Running) {
  const ends = await tenure.core.ends.current();
  for (const [position, source] of sources) {
    position.end = endFor(ends, position);
    if (!running.has(position) && position.next < position.end) {
      startServing(tenure, position, source, running);
    }
  }
}

/**
 * Serves the group until `ending` aborts. Then the slices in hand are waited for: without bound when the member goes on
 * (a partition is never handed out twice at a time), for the grace of a stop otherwise.
 */
export async function serveGroup(tenure: Tenure, stopping: AbortSignal, abort: () => void): Promise<void> {
  const { core, positions, serving } = tenure;
  const sources = new Map(positions.map((position) => [position, sliceSource(tenure, position)]));
  const running: Running = new Map();
  const renewing = keepLease(tenure);
  while (!serving.ending.aborted) {
    const seen = core.changes.version();
    await serveGrown(tenure, sources, running).catch(tenure.fail);
    await core.changes.after(seen, serving.ending, LOOK_MS);
  }
  await settleWork(() => [...running.values()], { stopping, abort });
  await renewing;
}
