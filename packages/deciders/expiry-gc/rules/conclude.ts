import type { ExpireAction } from '../../../../schemas/events/cluster-command.ts';
import type { ClusterVerdict } from '../../../../schemas/events/cluster-decision.ts';
import { kindName } from '../../../../schemas/events/cluster-objects.ts';
import type { ExpiryCandidate } from '../../../../schemas/events/expiry.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import type { OwnRule } from '../../../../schemas/policy/own-rule.ts';
import { type Approvals, approvalFacts, heldBy, type Reason } from '../../../decision/approvals.ts';
import { keepListOf, keptBecause } from '../../../decision/kept-objects.ts';
import { ruleSha256Of } from '../../../decision/rule-hash.ts';
import { type DueRule, dueOf, EXPIRING, type ExpiryCollector, isCollected } from './due.ts';
import { forbiddenBecause, isTooMuch, ownEndOf, ruleFor, type Share } from './own-rules.ts';

export type ExpiryRule = DueRule | 'K1' | 'L1' | 'S2' | 'S5' | 'S8' | 'S9' | 'S11' | 'S12' | 'S13';

type Facts = ClusterVerdict['facts'];

/** What was concluded of one object. `collector`: whose work it is where FleetGC does not do it; `null` by a rule of the policy. */
export type ExpiryOutcome =
  | {
      readonly kind: 'act';
      readonly rule: ExpiryRule;
      readonly facts: Facts;
      readonly act: ExpireAction;
      readonly collector: ExpiryCollector | null;
    }
  | {
      /** It would go, and somebody has to approve it first. */
      readonly kind: 'hold';
      readonly rule: ExpiryRule;
      readonly facts: Facts;
      readonly collector: ExpiryCollector | null;
    }
  | Stays;
interface Stays {
  readonly kind: 'keep';
  readonly rule: ExpiryRule;
  readonly facts: Facts;
}
type Act = Extract<ExpiryOutcome, { kind: 'act' }>;
type Hold = Pick<Stays, 'rule' | 'facts'>;

export interface ExpirySettings
  extends Pick<ClusterPolicy, 'profile' | 'keep' | 'heldKinds' | 'collectors' | 'rules'> {
  readonly approved: Approvals;
}

export interface Circumstances {
  /** What the API server's clock showed at least, so that nothing is too early (cluster K4, L1). */
  readonly nowMs: number;
  /** How much of a kind would go; `null` where nobody counted, `undefined` for who cannot count. */
  readonly shareOf: (kind: string) => Share | null | undefined;
}

/** What becomes of one object, by what it says itself. */
export function conclude(
  candidate: ExpiryCandidate,
  settings: ExpirySettings,
  circumstances: Circumstances,
): ExpiryOutcome {
  const byKind = byItsKind(candidate, settings, circumstances.nowMs);
  const isGiven =
    byKind.kind === 'act' && byKind.collector !== null && settings.collectors.includes(byKind.collector);
  return isGiven ? byKind : (byOwnRule(candidate, settings, circumstances) ?? byKind);
}

function byItsKind(candidate: ExpiryCandidate, settings: ExpirySettings, nowMs: number): ExpiryOutcome {
  const { object, facts } = candidate;
  if (!isCollected(facts)) return { kind: 'keep', rule: 'S8', facts: {} };
  const row = EXPIRING[facts.of];
  const keep = (told: Facts): ExpiryOutcome => ({ kind: 'keep', rule: row.stays, facts: told });
  if (kindName(object) !== row.kind) return keep({ kind: kindName(object), factsOf: facts.of });
  if (object.deletionTimestamp !== null) return keep({ deletionTimestamp: object.deletionTimestamp });
  const due = dueOf(candidate, settings.profile);
  if (due === null) return keep({});
  const told = { dueAtMs: due.atMs };
  if (nowMs < due.atMs) return { kind: 'keep', rule: due.rule, facts: told };
  const { propagation, collector } = row;
  const goes: Act = {
    kind: 'act',
    rule: due.rule,
    facts: { ...told, propagation },
    act: { action: 'expire', propagation },
    collector,
  };
  if (settings.profile === 'kubernetes') return goes;
  return keptByList(candidate, settings) ?? unlessHeld(goes, ofHeldKind(candidate, settings));
}

/** `null` where no rule of the policy is for it, or its annotations say nothing (cluster S8, S12). */
function byOwnRule(
  candidate: ExpiryCandidate,
  settings: ExpirySettings,
  { nowMs, shareOf }: Circumstances,
): ExpiryOutcome | null {
  const ownRule = ruleFor(candidate, settings.rules ?? []);
  if (ownRule === undefined) return null;
  const { rule, atMs } = ownEndOf(ownRule, candidate);
  if (atMs === null)
    return rule === 'S8' ? null : { kind: 'keep', rule: 'S13', facts: { ownRule: ownRule.name } };
  const told = { ownRule: ownRule.name, dueAtMs: atMs };
  const { deletionTimestamp } = candidate.object;
  if (deletionTimestamp !== null || nowMs < atMs) return { kind: 'keep', rule, facts: told };
  const forbidden = forbiddenBecause(candidate);
  if (forbidden !== null) return { kind: 'keep', rule: 'S9', facts: { ...told, forbidden } };
  const kept = keptByList(candidate, settings);
  if (kept !== null) return { ...kept, facts: { ...told, ...kept.facts } };
  const { propagation } = ownRule;
  const goes: Act = {
    kind: 'act',
    rule,
    facts: { ...told, propagation },
    act: { action: 'expire', propagation, ownRule: ownRule.name },
    collector: null,
  };
  const share = shareOf(kindName(candidate.object));
  const reasons = [
    ...ofHeldKind(candidate, settings),
    ...ofShare(candidate, { rule: ownRule, dueAtMs: atMs, share }, settings),
  ];
  const outcome = unlessHeld(goes, reasons);
  return outcome.kind === 'hold' ? { ...outcome, facts: { ...told, ...outcome.facts } } : outcome;
}

function unlessHeld(goes: Act, reasons: readonly Reason<Hold>[]): ExpiryOutcome {
  const held = heldBy(reasons);
  if (held !== null) return { kind: 'hold', ...held, collector: goes.collector };
  return { ...goes, facts: { ...goes.facts, ...approvalFacts(reasons) } };
}

interface Taking {
  readonly rule: OwnRule;
  readonly dueAtMs: number;
  readonly share: Share | null | undefined;
}

/** What nobody counted is held, unless the rule holds nothing (cluster S11). */
function ofShare(
  { object }: ExpiryCandidate,
  { rule, dueAtMs, share }: Taking,
  { approved }: ExpirySettings,
): readonly Reason<Hold>[] {
  if (share === undefined || rule.heldFromPercent === 0) return [];
  if (share !== null && !isTooMuch(rule, share)) return [];
  const kind = kindName(object);
  const ruleSha256 = ruleSha256Of(rule);
  const approval = approved.ofRule({ rule: rule.name, ruleSha256, kind, dueAtMs, over: share?.over ?? null });
  return [{ outcome: { rule: 'S11', facts: { kind, ruleSha256, ...share } }, approval }];
}

function ofHeldKind(
  { object }: ExpiryCandidate,
  { heldKinds, approved }: ExpirySettings,
): readonly Reason<Hold>[] {
  const kind = kindName(object);
  if (!heldKinds.includes(kind)) return [];
  return [{ outcome: { rule: 'S2', facts: { kind } }, approval: approved.ofObject(object) }];
}

/** What somebody keeps stays though its time is over (cluster S5). */
function keptByList({ object }: ExpiryCandidate, { keep }: ExpirySettings): Stays | null {
  const because = keptBecause(object, keepListOf(keep));
  return because && { kind: 'keep', rule: 'S5', facts: because };
}
