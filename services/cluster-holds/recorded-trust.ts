import type { EventLog } from '../../packages/event-log/port.ts';
import { readKeys } from '../../packages/trust/read-keys.ts';
import { RequiredTrust, type Trust } from '../../packages/trust/trust.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';

/** Verifies recorded facts of clusters; `null` without trust roots. */
export async function recordedTrust(
  roots: TrustRoots | null,
  log: Pick<EventLog, 'read'>,
  signal: AbortSignal,
): Promise<Trust | null> {
  if (roots === null) return null;
  const { ring } = await readKeys(log, roots, signal);
  return new RequiredTrust({
    ring: () => ring,
    problem: () => null,
    nowMs: () => 0,
    judges: 'as-recorded',
  });
}
