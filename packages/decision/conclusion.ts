import { COMMAND_VERSION } from '../../schemas/events/command.ts';
import type { Decision, DecisionOutcome, Verdict } from '../../schemas/events/decision.ts';
import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import type { ObjectKind } from '../../schemas/events/object-kinds.ts';
import type { Reclaim } from '../../schemas/events/reclaim.ts';
import type { Policy } from '../../schemas/policy/policy.ts';
import { entriesOf } from './inventory-entries.ts';
import type { KeptRule } from './rule-text.ts';

/** A fact that was missing or impossible, and what follows from it. */
export type Doubt = Decision['notBelieved'][number];
/** One for which objects are kept. */
export type KeepingDoubt = Doubt & { readonly rule: KeptRule };
/** A finding that decides nothing. */
export type Note = Decision['notes'][number];
export type Facts = Verdict['facts'];

/** Why an object is kept. */
export interface Kept {
  readonly rule: KeptRule;
  readonly facts: Facts;
}

/** What a decider concludes from one event: all of the decision record that is not identity. */
export interface Conclusion {
  readonly outcome: DecisionOutcome;
  readonly reason: string;
  readonly notBelieved: readonly Doubt[];
  /** Left out where there is nothing to note. */
  readonly notes?: readonly Note[];
  readonly verdicts: readonly Verdict[];
  readonly estimatedBytes: number;
  readonly reclaim: Reclaim | null;
}

/** Every listed object of these kinds is kept for the same reason. */
export const keepAll = (
  inventory: CompleteInventory,
  kinds: readonly ObjectKind[],
  { rule, facts }: Kept,
): Verdict[] =>
  kinds.flatMap((kind) =>
    entriesOf(inventory, kind).map(
      (_, position): Verdict => ({ action: 'keep', facts, kind, position, rule }),
    ),
  );

/** Byte counts of records are JSON numbers; a sum beyond 2^53 - 1 is told as that, which only people read. */
export const reportedBytes = (bytes: bigint): number =>
  bytes > MOST_BYTES ? Number.MAX_SAFE_INTEGER : Number(bytes);

const MOST_BYTES = BigInt(Number.MAX_SAFE_INTEGER);

interface CommandOutcome {
  readonly outcome: 'commanded' | 'dry-run' | 'no-common-version';
  readonly reason: string;
}

/** What becomes of a plan that holds something; `plan` is told as the beginning of the reason. */
export function commandOutcome(
  { commandVersions }: CompleteInventory,
  { mode }: Policy,
  plan: string,
): CommandOutcome {
  if (mode === 'dry-run') return { outcome: 'dry-run', reason: `${plan}; dry-run: no command is sent` };
  if (commandVersions.includes(COMMAND_VERSION)) return { outcome: 'commanded', reason: plan };
  const accepted = commandVersions.join(', ') || 'none';
  const reason = `${plan}; the node accepts command versions ${accepted}, not ${COMMAND_VERSION}: no command is sent`;
  return { outcome: 'no-common-version', reason };
}
