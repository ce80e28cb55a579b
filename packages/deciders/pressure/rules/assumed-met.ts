import type { DiskStats } from '../../../../schemas/events/disk-stats.ts';
import type { EvictionSignal } from '../../../../schemas/policy/eviction.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import type { KeepingDoubt } from '../../../decision/conclusion.ts';
import type { KeptRule } from '../../../decision/rule-text.ts';
import { thresholdsInForce, WATCHED } from '../../../decision/thresholds/eviction-signals.ts';
import { layoutOf } from '../../../decision/thresholds/layout.ts';
import { FORCED_GC_OFF, reclaimOf } from './eviction.ts';
import { chosen, type Finding, type Met } from './finding.ts';
import { observeReading } from './observation.ts';

/** One reading of a node's disks. */
type Reading = Pick<DiskStats, 'id' | 'takenAt' | 'filesystems'>;

/** What is asked for, or the rule by which the signal removes nothing. */
export type Assumed =
  | Met
  | { readonly kind: 'nothing'; readonly rule: KeptRule; readonly reason: string }
  | { readonly kind: 'doubt'; readonly doubt: KeepingDoubt };

/**
 * What an eviction signal would order while its thresholds are met, whether they are or not: for a plan that somebody
 * asks for. The thresholds in force, the actions of the layout and the target are those of a real reclaim.
 */
export function assumedMet(signal: EvictionSignal, reading: Reading, policy: Policy): Assumed {
  if (!policy.forcedGC) return nothing('M16', FORCED_GC_OFF);
  const layout = layoutOf(reading.filesystems);
  if (layout === null) return UNKNOWN_LAYOUT;
  const thresholds = thresholdsInForce(policy.evictionThresholds, layout).filter(
    (threshold) => threshold.signal === signal,
  );
  if (thresholds.length === 0) return nothing('J9', `policy ${policy.name} has no threshold for ${signal}`);
  const observation = observeReading(reading, WATCHED[signal]);
  if (observation.kind === 'doubt') return observation;
  if (observation.kind === 'not-counted')
    return nothing('J8', `${WATCHED[signal].filesystem} does not count its inodes`);
  const found = thresholds.map((threshold) =>
    reclaimOf(threshold, observation, { eventId: reading.id, policy, layout }),
  );
  return strictest(found, reading);
}

const nothing = (rule: KeptRule, reason: string): Assumed => ({ kind: 'nothing', rule, reason });

const UNKNOWN_LAYOUT: Assumed = {
  kind: 'doubt',
  doubt: {
    rule: 'J3',
    message:
      'not all of nodefs, imagefs and containerfs could be read, so it is not known what frees space of which',
  },
};

/** The actions are those of the signal, so either all of its thresholds have some or none has. */
function strictest(found: readonly Finding[], reading: Reading): Assumed {
  const met = chosen(
    found.filter((finding) => finding.kind === 'met'),
    reading,
  );
  if (met !== null) return met;
  return nothing(
    'J17',
    found.map((finding) => (finding.kind === 'not-met' ? finding.reason : '')).join('; '),
  );
}
