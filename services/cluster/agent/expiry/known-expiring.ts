import { annotatedEndMs } from '../../../../packages/deciders/expiry-gc/rules/annotated-end.ts';
import { dueOf } from '../../../../packages/deciders/expiry-gc/rules/due.ts';
import {
  forbiddenBecause,
  ownEndOf,
  ruleFor,
} from '../../../../packages/deciders/expiry-gc/rules/own-rules.ts';
import type { Expiring } from '../../../../packages/kube-api/expiring.ts';
import { controllerOf, mayBeJob } from '../../../../packages/kube-api/metadata.ts';
import type { ResourceKind } from '../../../../packages/owner-graph/kinds.ts';
import type { ExpiryCandidate } from '../../../../schemas/events/expiry.ts';
import type { OwnRule } from '../../../../schemas/policy/own-rule.ts';
import { graphObject } from '../graph-object-of.ts';
import type { ObservedObject } from '../watching/observed-object.ts';

/** An object whose time comes. */
export interface Known extends Expiring {
  readonly kind: ResourceKind;
  readonly object: Omit<ExpiryCandidate['object'], keyof ResourceKind | 'keptBy'>;
  readonly keep: boolean;
  readonly isControlled: boolean;
  /** Of the Job that owns a pod; `null` where no Job does. */
  readonly jobUid: string | null;
  readonly dueAtMs: number;
  /** When it may go by its annotations or a rule of the policy; `null` for never. */
  readonly ownEndMs: number | null;
}

/** `null` for an object that nothing says to delete, or that is going already (cluster K1). */
export function knownExpiring(
  kind: ResourceKind,
  observed: ObservedObject,
  rules: readonly OwnRule[],
): Known | null {
  const { expiring = null } = observed;
  if (expiring === null || observed.deletionTimestamp !== null) return null;
  const { namespace, name, uid, resourceVersion, deletionTimestamp, keep } = graphObject(kind, observed);
  const object = { namespace, name, uid, resourceVersion, deletionTimestamp };
  const controller = controllerOf(observed.ownerReferences);
  const jobUid =
    expiring.facts.of === 'Pod' && controller !== null && mayBeJob(controller) ? controller.uid : null;
  const timed = { ...expiring, isControlled: controller !== null };
  const candidate = { ...timed, object: { ...kind, ...object, keptBy: null } };
  // Which rules hold is decided by the policy: of all profiles the earliest counts here.
  const ownEndMs = earliest([annotatedEndMs(expiring), ruleEndMs(candidate, jobUid, rules)]);
  const dueAtMs = earliest([dueOf(expiring, 'fleetgc')?.atMs ?? null, ownEndMs]);
  return dueAtMs === null ? null : { ...timed, kind, object, keep, jobUid, dueAtMs, ownEndMs };
}

/** Of what no rule may delete nobody is told again and again. How far a Job is changes without a word of its pods. */
function ruleEndMs(
  candidate: ExpiryCandidate,
  jobUid: string | null,
  rules: readonly OwnRule[],
): number | null {
  const rule = ruleFor(candidate, rules);
  const asIfFinished: ExpiryCandidate =
    jobUid === null ? candidate : { ...candidate, controllingJob: 'finished' };
  return rule === undefined || forbiddenBecause(asIfFinished) !== null
    ? null
    : ownEndOf(rule, candidate).atMs;
}

function earliest(ends: readonly (number | null)[]): number | null {
  const told = ends.filter((each) => each !== null);
  return told.length === 0 ? null : Math.min(...told);
}
