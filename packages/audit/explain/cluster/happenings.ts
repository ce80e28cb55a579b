import type { ClusterCommand, ClusterCommandItem } from '../../../../schemas/events/cluster-command.ts';
import type { ClusterDecision, ClusterVerdict } from '../../../../schemas/events/cluster-decision.ts';
import { type ClusterInstant, kindName } from '../../../../schemas/events/cluster-objects.ts';
import type {
  ClusterCommandResult,
  ClusterObjectResults,
} from '../../../../schemas/events/cluster-result.ts';
import type { ExpiryCandidate } from '../../../../schemas/events/expiry.ts';
import type { OwnershipCandidate, OwnershipReference } from '../../../../schemas/events/ownership.ts';
import type { PodCandidate } from '../../../../schemas/events/pods.ts';
import type {
  ClusterEntryOf,
  ClusterTimelineEntry,
  ExplainedOwner,
} from '../../../../schemas/reports/cluster-explanation.ts';
import type { LogRecord } from '../../../log/port.ts';
import type { NamedByUid } from './asked-object.ts';

/** When something happened, by both clocks, and where the log says so. */
export type Moment = Pick<ClusterTimelineEntry, 'loggedAtMs' | 'clusterTimeMs' | 'record'>;

export const momentOf = (
  { topic, partition, offset, timestampMs }: LogRecord,
  instant: ClusterInstant | null,
): Moment => ({
  loggedAtMs: timestampMs,
  clusterTimeMs: instant?.serverMs ?? null,
  record: { topic, partition, offset: String(offset) },
});

/** Words for a rule, by what is done. */
export type RuleWords = (verdict: Pick<ClusterVerdict, 'rule' | 'action'>) => string;

type Told = ClusterEntryOf<'candidate'>;
type Judged = OwnershipCandidate | ExpiryCandidate | PodCandidate;

const toldOf = ({ object }: Judged, at: Moment) => ({
  what: 'candidate' as const,
  ...at,
  how: 'first' as const,
  isBeingDeleted: object.deletionTimestamp !== null,
  keptBy: object.keptBy,
});

export const ownedEntry = (candidate: OwnershipCandidate, at: Moment): Told => ({
  ...toldOf(candidate, at),
  as: 'owned',
  finalizers: candidate.object.finalizers,
  owners: candidate.references.map(ownerOf),
  facts: { dependents: candidate.dependents.count, ...widestOf(candidate) },
});

const ownerOf = ({ apiVersion, kind, name, uid, state, gone }: OwnershipReference): ExplainedOwner => ({
  kind: kindName({ group: groupOf(apiVersion), kind }),
  name,
  uid,
  state,
  gone,
});

const groupOf = (apiVersion: string): string => apiVersion.split('/').slice(0, -1).join('/');

function widestOf({ cascades }: OwnershipCandidate): Told['facts'] {
  const widths = cascades.map(({ objects }) => objects);
  return widths.length === 0 ? {} : { cascade: Math.max(...widths) };
}

export function expiringEntry(candidate: ExpiryCandidate, at: Moment): Told {
  const { facts, annotations = {}, labels = {}, createdAtMs } = candidate;
  return {
    ...toldOf(candidate, at),
    as: 'expiring',
    finalizers: [],
    owners: [],
    facts: { createdAtMs, ...expiryFacts(facts), ...annotations, ...labelFacts(labels) },
  };
}

function expiryFacts(facts: ExpiryCandidate['facts']): Told['facts'] {
  switch (facts.of) {
    case 'Job':
      return {
        ttlSecondsAfterFinished: facts.ttlSecondsAfterFinished,
        finishedAtMs: facts.finished?.atMs ?? null,
      };
    case 'CertificateSigningRequest':
      return {
        conditions: facts.conditions.map(({ type }) => type).join(' '),
        certificate: facts.certificate.is,
      };
    case 'Pod':
      return facts.ended === null ? {} : { state: facts.ended.state, endedAtMs: facts.ended.atMs };
    case 'PodCertificateRequest':
    case 'object':
      return {};
  }
}

const labelFacts = (labels: Readonly<Record<string, string>>): Told['facts'] =>
  Object.fromEntries(Object.entries(labels).map(([name, value]) => [`label ${name}`, value]));

export function podEntry(candidate: PodCandidate, at: Moment): Told {
  const { phase, node, createdAtMs, object } = candidate;
  const nodeFacts = node.state === 'none' ? {} : { nodeName: node.name };
  const missing = node.state === 'missing' ? { missingForMs: node.missingForMs } : {};
  return {
    ...toldOf(candidate, at),
    as: 'pod',
    finalizers: object.finalizers,
    owners: [],
    facts: { createdAtMs, phase, node: node.state, ...nodeFacts, ...missing },
  };
}

/** An owner by what a dependent says of it: where it lies is not in a reference. */
const ownerNamed = (
  { apiVersion, kind, name, uid, resolved }: OwnershipReference,
  { object }: OwnershipCandidate,
): NamedByUid => ({
  group: resolved?.group ?? groupOf(apiVersion),
  kind,
  namespace: resolved?.namespaced === true ? object.namespace : '',
  name,
  uid,
});

export interface NamedOwner {
  readonly owner: NamedByUid;
  readonly reference: OwnershipReference;
}

/** A reference that describes another object than its uid has says nothing of that one. */
export const ownersOf = (candidate: OwnershipCandidate): readonly NamedOwner[] =>
  candidate.references
    .filter(({ state }) => state !== 'elsewhere')
    .map((reference) => ({ owner: ownerNamed(reference, candidate), reference }));

export const repeatable = ({ loggedAtMs, clusterTimeMs }: Moment) => ({
  times: 1,
  last: { loggedAtMs, clusterTimeMs },
});

export const owningEntry = (
  { state, gone }: OwnershipReference,
  dependents: number,
  at: Moment,
): ClusterEntryOf<'owner'> => ({ what: 'owner', ...at, ...repeatable(at), state, gone, dependents });

export const verdictEntry = (
  { decider, id, outcome, reason, policy }: ClusterDecision,
  verdict: ClusterVerdict,
  { at, words }: { readonly at: Moment; readonly words: RuleWords },
): ClusterEntryOf<'verdict'> => ({
  what: 'verdict',
  ...at,
  ...repeatable(at),
  decider: decider.name,
  decisionId: id,
  outcome,
  reason,
  policy: policy && { name: policy.name, version: policy.version, hash: policy.hash },
  action: verdict.action,
  rule: verdict.rule,
  because: words(verdict),
  facts: verdict.facts,
});

export const commandEntry = (
  { id, lifetimeMs }: ClusterCommand,
  { rule, act }: ClusterCommandItem,
  { at, words }: { readonly at: Moment; readonly words: RuleWords },
): ClusterEntryOf<'command'> => ({
  what: 'command',
  ...at,
  commandId: id,
  action: act.action,
  rule,
  because: words({ rule, action: act.action }),
  propagation: 'propagation' in act ? act.propagation : null,
  ownRule: 'ownRule' in act ? (act.ownRule ?? null) : null,
  lifetimeMs,
  answered: false,
});

export const resultEntry = (
  commandId: string,
  told: ClusterObjectResults['objects'][number],
  at: Moment,
): ClusterEntryOf<'result'> => ({
  what: 'result',
  ...at,
  commandId,
  wholeCommand: false,
  action: told.action,
  rule: told.rule,
  outcome: told.result.outcome,
  reason: 'reason' in told.result ? told.result.reason : null,
  message: 'message' in told.result ? (told.result.message ?? null) : null,
  attempts: told.attempts,
  requests: told.requests,
  owners: told.owners,
  node: told.node ?? null,
});

/** `null` for a command that was carried out: its objects have results of their own. */
export function refusedEntry(
  { commandId, result }: ClusterCommandResult,
  at: Moment,
): ClusterEntryOf<'result'> | null {
  if (result.outcome !== 'refused') return null;
  const { reason, message } = result;
  const nothing = { action: null, rule: null, attempts: 0, requests: 0, owners: [], node: null };
  return {
    what: 'result',
    ...at,
    commandId,
    wholeCommand: true,
    outcome: 'refused',
    reason,
    message,
    ...nothing,
  };
}
