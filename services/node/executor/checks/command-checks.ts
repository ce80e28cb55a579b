import { pluralOf } from '../../../../packages/decision/inventory-entries.ts';
import { OWN_RULES } from '../../../../packages/decision/own-rules.ts';
import { toFleetGcError } from '../../../../packages/process/errors.ts';
import { shortHash } from '../../../../packages/text/short-hash.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import type { ObjectKind } from '../../../../schemas/events/object-kinds.ts';
import type { CommandRefusal } from '../../../../schemas/events/result.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import type { PauseRecord, PolicyRecord, PolicySet } from '../../../../schemas/policy/policy.ts';
import { type SelectableNode, selectPolicy } from '../../../../schemas/policy/policy-selection.ts';
import type { LastActions } from '../journal/journal-state.ts';
import type { LocalRules } from '../local/local-file.ts';
import type { RemovalRate } from '../local/removal-rate.ts';
import type { BackoffEntry } from '../results/removal-backoff.ts';
import type { Refusal } from '../results/results.ts';

/** What may forbid a removal whatever the runtime says. */
export interface Restrictions {
  readonly policy: PolicyInForce;
  /** Whether the key that signed the command still counts; why not, in a sentence. */
  readonly distrustOf: (commandId: string) => string | null;
  readonly local: LocalRules;
  readonly backoff: readonly BackoffEntry[];
  readonly lastActions: LastActions;
  readonly removalRate: RemovalRate;
}

/** Where a policy ceased to be in force between two looks at it. */
export const NO_POLICY: Refusal<CommandRefusal> = {
  reason: 'policy-not-in-force',
  message: 'no policy is in force here',
};

type CommandRefused = Refusal<CommandRefusal> | undefined;

/** Why nothing of the command may be done now. */
export const commandRefusal = (command: Command, restrictions: Restrictions, now: Instant): CommandRefused =>
  timeRefusal(command, now) ??
  overtakenWhole(command, restrictions.lastActions) ??
  holding(restrictions) ??
  signerRefusal(command, restrictions) ??
  policyRefusal(command, restrictions.policy);

/** Why nothing at all is removed on this node now. */
export const holding = ({ policy, local }: Pick<Restrictions, 'policy' | 'local'>): CommandRefused =>
  pauseRefusal(policy) ?? holdRefusal(local);

/** Times are compared within one boot and by the time since it, which nobody can set. */
export function timeRefusal(
  { takenAt, lifetimeMs }: Pick<Command, 'takenAt' | 'lifetimeMs'>,
  now: Instant,
): CommandRefused {
  if (takenAt.bootId !== now.bootId) {
    return { reason: 'other-boot', message: 'the node was booted since the inventory was taken' };
  }
  const ageMs = now.sinceBootMs - takenAt.sinceBootMs;
  if (ageMs < 0) {
    const message = `the inventory claims to be taken ${-ageMs} ms from now`;
    return { reason: 'taken-in-the-future', message };
  }
  if (ageMs < lifetimeMs) return undefined;
  const message = `the inventory was taken ${ageMs} ms ago, and the command lives ${lifetimeMs} ms`;
  return { reason: 'expired', message };
}

/** An action of another command on the same kind of object, not certainly before the inventory. */
export function overtaken(
  command: Pick<Command, 'id' | 'takenAt'>,
  kind: ObjectKind,
  lastActions: LastActions,
): CommandRefused {
  const last = lastActions[kind];
  if (last === null || last.commandId === command.id || last.at.bootId !== command.takenAt.bootId) {
    return undefined;
  }
  if (last.at.sinceBootMs < command.takenAt.sinceBootMs) return undefined;
  const message = `the node acted on ${pluralOf(kind)} after the inventory was taken (${last.commandId || 'journal lost'})`;
  return { reason: 'superseded', message };
}

function overtakenWhole(command: Command, lastActions: LastActions): CommandRefused {
  const kinds = new Set<ObjectKind>(command.items.map(({ kind }) => kind));
  const refusals = [...kinds].map((kind) => overtaken(command, kind, lastActions));
  return refusals.every((refusal) => refusal !== undefined) ? refusals[0] : undefined;
}

function pauseRefusal(policy: PolicyInForce): CommandRefused {
  switch (policy.kind) {
    case 'enforced':
    case 'not-enforced':
      return undefined;
    case 'paused':
      return { reason: 'paused', message: `fleetgc pause is in force: ${policy.pause.reason}` };
    case 'unreadable':
      return {
        reason: 'held',
        message: `whether the node is paused cannot be read, so nothing is removed: ${policy.message}`,
      };
  }
}

/** What was decided under another policy than the one in force here is decided once more under this one. */
function policyRefusal({ policy: named }: Pick<Command, 'policy'>, policy: PolicyInForce): CommandRefused {
  const reason = 'policy-not-in-force';
  if (policy.kind === 'not-enforced') return { reason, message: policy.message };
  if (policy.kind !== 'enforced' || policy.record.hash === named.hash) return undefined;
  const { name } = policy.record.policy;
  const message = `it was decided under policy ${named.name} (${shortHash(named.hash)}); in force here is ${name} (${shortHash(policy.record.hash)})`;
  return { reason, message };
}

/** A key may have been taken back since its command came. */
function signerRefusal({ id }: Command, { distrustOf }: Restrictions): CommandRefused {
  const message = distrustOf(id);
  return message === null ? undefined : { reason: 'not-trusted', message };
}

function holdRefusal(local: LocalRules): CommandRefused {
  if (local.kind === 'held') return { reason: 'held', message: local.message };
  return local.hold ? { reason: 'held', message: "the node's own file says hold: true" } : undefined;
}

/** What the policies that this process follows itself say of this node. */
export type PolicyInForce =
  | { readonly kind: 'enforced'; readonly record: PolicyRecord }
  | { readonly kind: 'paused'; readonly pause: Pick<PauseRecord, 'reason'> }
  /** No policy selects it, or the one that does says `dry-run`. */
  | { readonly kind: 'not-enforced'; readonly message: string }
  /** They cannot be read: a pause, or another policy, could be among them. */
  | { readonly kind: 'unreadable'; readonly message: string };

/** `current` throws `POLICIES_UNREADABLE` while nobody can tell. */
export function policyInForce(current: () => PolicySet, node: SelectableNode): PolicyInForce {
  let policies: PolicySet;
  try {
    policies = current();
  } catch (error) {
    return { kind: 'unreadable', message: toFleetGcError(error).message };
  }
  const selection = selectPolicy(policies, node);
  switch (selection.kind) {
    case 'paused':
      return { kind: 'paused', pause: selection.pause };
    case 'too-costly':
      return { kind: 'unreadable', message: OWN_RULES.P10 };
    case 'none':
      return { kind: 'not-enforced', message: 'no policy selects this node now' };
    case 'policy': {
      const { record } = selection;
      const { name, mode } = record.policy;
      if (mode === 'enforce') return { kind: 'enforced', record };
      return { kind: 'not-enforced', message: `policy ${name} says ${mode} for this node now` };
    }
  }
}
