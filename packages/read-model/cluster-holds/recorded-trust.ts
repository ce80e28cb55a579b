import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import type { EventLog } from '../../log/port.ts';
import { readKeys } from '../../records/trust/read-keys.ts';
import { RequiredTrust, type Trust } from '../../records/trust/trust.ts';

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
