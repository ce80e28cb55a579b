import { keptBecause } from '../../../packages/decision/kept-objects.ts';
import type { ExpireAction } from '../../../schemas/events/cluster-command.ts';
import type { ClusterVerdict } from '../../../schemas/events/cluster-decision.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { ExpiryCandidate } from '../../../schemas/events/expiry.ts';
import type { ClusterPolicy, Collector } from '../../../schemas/policy/cluster-policy.ts';
import { type DueRule, dueOf, EXPIRING } from './due.ts';

export type ExpiryRule = DueRule | 'K1' | 'L1' | 'S2' | 'S5';

type Facts = ClusterVerdict['facts'];

/** What was concluded of one object. `collector`: whose work it is where FleetGC does not do it. */
export type ExpiryOutcome =
  | {
      readonly kind: 'act';
      readonly rule: ExpiryRule;
      readonly facts: Facts;
      readonly act: ExpireAction;
      readonly collector: Collector;
    }
  | { readonly kind: 'keep' | 'hold'; readonly rule: ExpiryRule; readonly facts: Facts };

export type ExpirySettings = Pick<ClusterPolicy, 'profile' | 'keep' | 'heldKinds'>;

/**
 * What becomes of one object, by what it says itself. `nowMs` is what the API server's clock showed at least, so that nothing is too
 * early (cluster K4, L1).
 */
export function conclude(candidate: ExpiryCandidate, settings: ExpirySettings, nowMs: number): ExpiryOutcome {
  const { object, facts } = candidate;
  const row = EXPIRING[facts.of];
  const keep = (told: Facts): ExpiryOutcome => ({ kind: 'keep', rule: row.stays, facts: told });
  if (kindName(object) !== row.kind) return keep({ kind: kindName(object), factsOf: facts.of });
  if (object.deletionTimestamp !== null) return keep({ deletionTimestamp: object.deletionTimestamp });
  const due = dueOf(candidate, settings.profile);
  if (due === null) return keep({});
  const told = { dueAtMs: due.atMs };
  if (nowMs < due.atMs) return { kind: 'keep', rule: due.rule, facts: told };
  return (
    spared(candidate, settings) ?? {
      kind: 'act',
      rule: due.rule,
      facts: { ...told, propagation: row.propagation },
      act: { action: 'expire', propagation: row.propagation },
      collector: row.collector,
    }
  );
}

/** Why an object stays though its time is over, in profile `fleetgc` (cluster S2, S5). */
function spared(
  { object }: ExpiryCandidate,
  { profile, keep, heldKinds }: ExpirySettings,
): ExpiryOutcome | null {
  if (profile === 'kubernetes') return null;
  const because = keptBecause(object, {
    namespaces: new Set(keep.namespaces),
    kinds: new Set(keep.kinds),
  });
  if (because !== null) return { kind: 'keep', rule: 'S5', facts: because };
  const kind = kindName(object);
  return heldKinds.includes(kind) ? { kind: 'hold', rule: 'S2', facts: { kind } } : null;
}
