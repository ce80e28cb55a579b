import { type FleetGcError, toFleetGcError } from '../../errors.ts';
import { pause } from '../back-off.ts';
import { STOP_ABORTED_MS, STOP_GRACE_MS, waitAtMost, waitUnless } from '../stopping.ts';
import { LEASE_RENEW_MS, renewLease } from './lease.ts';
import type { Membership, Tenure } from './membership.ts';
import type { Position } from './positions.ts';
import { drain } from './slices.ts';

/** The log is looked at this often even when nothing seems to have changed. */
const LOOK_MS = 1000;

async function renewOnce(tenure: Tenure): Promise<void> {
  const { core, subscription, member } = tenure;
  const claim = { group: subscription.group, member, nowMs: core.context.now() };
  try {
    await core.database.write((statements) => renewLease(statements, claim));
  } catch (error) {
    const { code, retry, message } = toFleetGcError(error);
    if (code === 'GROUP_LOST' || !retry) tenure.fail(error);
    else tenure.report(message);
  }
}

async function keepLease(tenure: Tenure): Promise<void> {
  while (!tenure.over.aborted) {
    await pause(LEASE_RENEW_MS, tenure.over);
    if (!tenure.over.aborted) await renewOnce(tenure);
  }
}

type Drains = Set<Promise<void>>;

function startDrain(tenure: Tenure, position: Position, drains: Drains): void {
  position.draining = true;
  const running = drain(tenure, position).finally(() => {
    position.draining = false;
    drains.delete(running);
  });
  drains.add(running);
}

async function startDrains(tenure: Tenure, drains: Drains): Promise<void> {
  const ends = await tenure.core.ends.current();
  for (const position of tenure.positions) {
    position.end = ends.get(position.id) ?? position.end;
    if (!position.draining && position.next < position.end) startDrain(tenure, position, drains);
  }
}

async function serve(tenure: Tenure, drains: Drains): Promise<void> {
  const { ending } = tenure;
  while (!ending.aborted) {
    const seen = tenure.core.changes.version();
    await startDrains(tenure, drains).catch(tenure.fail);
    await tenure.core.changes.after(seen, ending, LOOK_MS);
  }
}

/**
 * Serves the group until it is lost or the subscription stops. Then the slices in hand are waited for: without bound
 * when the member goes on (a partition is never handed out twice at a time), for the grace of a stop otherwise.
 * Rejects with what ended the tenure.
 */
export async function serveGroup(membership: Membership, positions: readonly Position[]): Promise<void> {
  const over = new AbortController();
  let failure: FleetGcError | null = null;
  const fail = (error: unknown): void => {
    failure ??= toFleetGcError(error);
    over.abort();
  };
  const ending = AbortSignal.any([over.signal, membership.stopping]);
  const tenure: Tenure = { ...membership, positions, over: over.signal, ending, fail };
  const drains: Drains = new Set();
  const renewing = keepLease(tenure);

  await serve(tenure, drains);
  await waitUnless(Promise.all(drains), membership.stopping);
  await waitAtMost(Promise.all(drains), over.signal.aborted ? STOP_ABORTED_MS : STOP_GRACE_MS);
  over.abort();
  await waitAtMost(Promise.all([renewing, ...drains]), STOP_ABORTED_MS);
  if (failure !== null) throw failure;
}
