import { conclude, type ExpiryOutcome } from '../../../packages/deciders/expiry-gc/rules/conclude.ts';
import { labelsAsked, rulesOn, type Share } from '../../../packages/deciders/expiry-gc/rules/own-rules.ts';
import { Approvals } from '../../../packages/decision/approvals.ts';
import { type Expiring, type ExpiringObject, expiringForm } from '../../../packages/kube-api/expiring.ts';
import { controllerOf, mayBeJob, type ObjectMetadata } from '../../../packages/kube-api/metadata.ts';
import type { ExpireAction } from '../../../schemas/events/cluster-command.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { ExpiryCandidate } from '../../../schemas/events/expiry.ts';
import { type Asked, clockUnbelieved, type Judgement, liveObject } from './judge.ts';
import { isStop, later, refused, type Stop } from './order.ts';
import { ruleKey } from './rates.ts';

/** Judges whether the time of an object is over, by the object as the API server has it (cluster K5, L10). */
export async function judgeExpiry(asked: Asked, act: ExpireAction): Promise<Judgement | Stop> {
  const { kind, record, approvals, clock, nowMs } = asked;
  const rules = rulesOn(record.policy.rules ?? [], kindName(kind));
  const object = await liveObject(asked, expiringForm(kind, labelsAsked(rules)));
  if (isStop(object)) return object;
  const candidate = await candidateOf(asked, object);
  if ('kind' in candidate) return candidate;
  const time = clock.at(nowMs());
  if (time === null) return clockUnbelieved();
  const settings = { ...record.policy, approved: new Approvals(approvals) };
  const share = shareFor(asked, time.earliestMs);
  const outcome = conclude(candidate, settings, { nowMs: time.earliestMs, shareOf: () => share });
  if (outcome.kind === 'hold' && outcome.rule === 'S11' && share === null) return UNCOUNTED;
  return (
    objectionTo(outcome, asked, act) ?? {
      kind,
      object,
      action: act,
      record,
      approvals,
      countsFor: [],
      within: withinOf(act, record),
    }
  );
}

const UNCOUNTED = later('api-server-error', 'how much of its kind would go is not counted yet');

/**
 * How much of a kind would go is not to be seen in one object. Only the agent of the same process counts it; without one that it is
 * not held is left to the decision (cluster S11).
 */
function shareFor({ index, kind }: Asked, serverMs: number): Share | null | undefined {
  if (index === null) return undefined;
  return index.current()?.expiry.shareOf(kindName(kind), serverMs) ?? null;
}

async function candidateOf(
  { kind, reads }: Asked,
  { expiring, keep, ...object }: ExpiringObject,
): Promise<ExpiryCandidate | Stop> {
  if (expiring === null)
    return refused('kept-by-own-judgement', 'nothing that can be read says when its time is over');
  const isInKept = kind.namespaced ? await reads.keepsNamespace(object.namespace) : false;
  if (typeof isInKept !== 'boolean') return isInKept;
  const controlled = await controlOf(object, expiring, reads);
  if ('kind' in controlled) return controlled;
  const { name, uid, resourceVersion, deletionTimestamp } = object;
  const namespace = kind.namespaced ? object.namespace : '';
  const keptBy = keep ? 'object' : isInKept ? 'namespace' : null;
  return {
    object: { ...kind, namespace, name, uid, resourceVersion, deletionTimestamp, keptBy },
    ...expiring,
    ...controlled,
  };
}

/** What controls the object; of the Job that owns a pod it is asked how far that is (cluster S15). */
async function controlOf(
  { namespace, ownerReferences }: Pick<ObjectMetadata, 'namespace' | 'ownerReferences'>,
  { facts }: Expiring,
  reads: Asked['reads'],
): Promise<Pick<ExpiryCandidate, 'isControlled' | 'controllingJob'> | Stop> {
  const controller = controllerOf(ownerReferences);
  const isControlled = controller !== null;
  if (facts.of !== 'Pod' || controller === null || !mayBeJob(controller)) return { isControlled };
  const controllingJob = await reads.job(namespace, controller);
  return typeof controllingJob === 'string' ? { isControlled, controllingJob } : controllingJob;
}

function objectionTo(outcome: ExpiryOutcome, { order, record }: Asked, act: ExpireAction): Stop | null {
  const { name, collectors } = record.policy;
  if (outcome.kind !== 'act') {
    const told = Object.entries(outcome.facts).map(([fact, value]) => `${fact}: ${String(value)}`);
    const message = `${outcome.kind} by ${[outcome.rule, ...told].join(', ')}`;
    if (outcome.kind === 'hold') return refused('not-approved', message);
    return refused(outcome.rule === 'S5' ? 'kept-by-policy' : 'kept-by-own-judgement', message);
  }
  if (outcome.collector !== null && !collectors.includes(outcome.collector))
    return refused('policy-not-in-force', `policy ${name} does not give ${outcome.collector} to FleetGC`);
  const isThat = outcome.act.propagation === act.propagation && outcome.act.ownRule === act.ownRule;
  if (!isThat || outcome.rule !== order.item.rule)
    return refused('kept-by-own-judgement', `by ${outcome.rule} ${outcome.act.propagation}, not this`);
  return null;
}

/** As many as the rule of the policy lets go in an hour (cluster S10). */
function withinOf({ ownRule }: ExpireAction, { policy }: Asked['record']): Judgement['within'] {
  const rule = policy.rules?.find(({ name }) => name === ownRule);
  return rule === undefined ? null : { key: ruleKey(rule.name), limit: rule.removalsPerHour };
}
