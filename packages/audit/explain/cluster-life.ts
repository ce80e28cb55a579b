import type { ClusterCommand, ClusterCommandItem } from '../../../schemas/events/cluster-command.ts';
import type { ClusterDecision, ClusterVerdict } from '../../../schemas/events/cluster-decision.ts';
import {
  type ClusterInstant,
  type ClusterObject,
  kindName,
} from '../../../schemas/events/cluster-objects.ts';
import type { ClusterCommandResult, ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import type { ExpiryCandidate } from '../../../schemas/events/expiry.ts';
import type {
  OwnershipCandidate,
  OwnershipReference,
  ReferenceState,
} from '../../../schemas/events/ownership.ts';
import type { PodCandidate } from '../../../schemas/events/pods.ts';
import type {
  ClusterEntryOf,
  ClusterObjectState,
  ClusterTimelineEntry,
  ExplainedOwner,
  ObjectLife,
} from '../../../schemas/reports/cluster-explanation.ts';
import type { LogRecord } from '../../log/port.ts';
import { leastOf, mostOf } from '../../process/collections.ts';

/** What names and uids are compared with. */
export type NamedByUid = Pick<ClusterObject, 'group' | 'kind' | 'namespace' | 'name' | 'uid'>;

/** What the log says of one object, as it was read. */
export interface GatheredLife {
  readonly cluster: string;
  readonly object: NamedByUid;
  readonly happened: Happening[];
}

/** `order`: brokers' clocks differ, so what follows from something is never before it. */
interface Happening {
  readonly orderMs: number;
  readonly entry: ClusterTimelineEntry;
}

/** The life of an object in its order: what is equal told once, what was answered, and how it stands. */
export function toldLife({ object: { uid }, happened }: GatheredLife): ObjectLife {
  const inOrder = happened.toSorted((a, b) => a.orderMs - b.orderMs).map(({ entry }) => entry);
  const life = new LifeTeller(inOrder);
  for (const [place, entry] of inOrder.entries()) life.tell(entry, place);
  const times = inOrder.map(({ loggedAtMs }) => loggedAtMs);
  return {
    uid,
    state: life.state,
    firstMs: leastOf(times),
    lastMs: mostOf(times),
    timeline: life.timeline,
  };
}

/** What dependents say of an owner that is not there any more. */
const IS_AWAY: ReadonlySet<string> = new Set<ReferenceState>(['gone', 'unseen']);

class LifeTeller {
  state: ClusterObjectState = 'there';
  readonly timeline: ClusterTimelineEntry[] = [];
  readonly #deletions: DeletionsAround;
  /** Behind the one by which it was gone before. */
  #begin = 0;
  readonly #answered: ReadonlySet<string>;
  /** What was told last of each cause for telling it. */
  readonly #told = new Map<string, string>();
  /** Where entries are that equal ones may be told with, by their keys. */
  #open = new Map<string, number>();
  /** When a result said that it is gone, by the API server's clock. */
  #goneAtMs: number | null = null;

  constructor(all: readonly ClusterTimelineEntry[]) {
    this.#deletions = new DeletionsAround(all);
    this.#answered = new Set(all.flatMap((entry) => (entry.what === 'result' ? [entry.commandId] : [])));
  }

  tell(entry: ClusterTimelineEntry, place: number): void {
    switch (entry.what) {
      case 'candidate':
        this.#tellCandidate(entry);
        break;
      case 'owner':
        if (IS_AWAY.has(entry.state)) this.state = this.#isDeletedByFleetGc() ? 'removed' : 'gone';
        this.#fold(entry);
        break;
      case 'verdict':
        this.#fold(entry);
        break;
      case 'command':
        this.#note({ ...entry, answered: this.#answered.has(entry.commandId) });
        break;
      case 'result':
        this.#tellResult(entry);
        break;
      case 'settled':
        this.#tellSettled(entry, place);
        break;
    }
  }

  #isDeletedByFleetGc(): boolean {
    return this.state === 'removed' || this.state === 'being-deleted';
  }

  #note(entry: ClusterTimelineEntry): void {
    this.#open = new Map();
    this.timeline.push(entry);
  }

  /** What was taken before a result said that it is gone is old. */
  #tellCandidate(entry: ClusterEntryOf<'candidate'>): void {
    const isOld = this.#goneAtMs !== null && (entry.clusterTimeMs ?? 0) <= this.#goneAtMs;
    if (isOld) return;
    const isAgain = this.state !== 'there' && this.state !== 'being-deleted';
    const content = contentOf(entry);
    const before = this.#told.get(entry.as);
    this.#told.set(entry.as, content);
    if (isAgain) {
      this.state = 'there';
      this.#goneAtMs = null;
    }
    if (!isAgain && before === content) return;
    this.#note({ ...entry, how: isAgain ? 'again' : before === undefined ? 'first' : 'changed' });
  }

  #tellResult(entry: ClusterEntryOf<'result'>): void {
    const { outcome } = entry;
    if (outcome === 'removed') this.state = 'removed';
    if (outcome === 'accepted') this.state = 'being-deleted';
    if (outcome === 'not-found') this.state = this.#isDeletedByFleetGc() ? 'removed' : 'gone';
    if (outcome === 'removed' || outcome === 'not-found') this.#goneAtMs = entry.clusterTimeMs;
    this.#note(entry);
  }

  #tellSettled(entry: ClusterEntryOf<'settled'>, place: number): void {
    if (entry.how === 'no-candidate') {
      this.state = 'settled';
      this.#note(entry);
      return;
    }
    const byFleetGc = this.#deletions.has(entry, { place, begin: this.#begin });
    this.#begin = place + 1;
    this.state = byFleetGc ? 'removed' : 'gone';
    this.#note({ ...entry, byFleetGc });
  }

  #fold(entry: ClusterEntryOf<'owner' | 'verdict'>): void {
    const key = foldingKey(entry);
    const place = this.#open.get(streamOf(entry));
    const earlier = place === undefined ? undefined : this.timeline[place];
    if (place !== undefined && earlier !== undefined && 'times' in earlier && foldingKey(earlier) === key) {
      this.timeline[place] = repeatedBy(earlier, entry);
      return;
    }
    this.#open.set(streamOf(entry), this.timeline.push(entry) - 1);
  }
}

type Repeated = ClusterEntryOf<'owner' | 'verdict'>;

/** The last one's own fields hold, but the first one's times. */
function repeatedBy(earlier: Repeated, later: Repeated): Repeated {
  const { loggedAtMs, clusterTimeMs, record, times } = earlier;
  const last = { loggedAtMs: later.loggedAtMs, clusterTimeMs: later.clusterTimeMs };
  return { ...later, loggedAtMs, clusterTimeMs, record, times: times + 1, last };
}

/** Deciders take turns, so equal verdicts of one need not follow each other. */
const streamOf = (entry: Repeated): string => (entry.what === 'verdict' ? entry.decider : 'owner');

function foldingKey(entry: Repeated): string {
  if (entry.what === 'owner') return JSON.stringify([entry.state, entry.gone]);
  const { outcome, action, rule, facts, policy } = entry;
  return JSON.stringify([outcome, action, rule, policy?.hash, comparable(facts)]);
}

/** Ages and counts differ every time; what is said in words or yes and no does not. */
const comparable = (facts: Facts): readonly unknown[] =>
  Object.entries(facts).filter(([, value]) => typeof value !== 'number');
type Facts = ClusterEntryOf<'verdict'>['facts'];

const contentOf = (entry: ClusterEntryOf<'candidate'>): string => {
  const { isBeingDeleted, finalizers, keptBy, owners, facts } = entry;
  return JSON.stringify([isBeingDeleted, finalizers, keptBy, owners, comparable(facts)]);
};

type Settled = ClusterEntryOf<'settled'>;

/**
 * Whether a result tells of the deletion of which the agent tells too. All of it is found out in one pass: any account that may write facts can
 * have an object gone as often as a log has room.
 */
class DeletionsAround {
  /** By place, that of the next deletion, from this one on; the length where there is none. */
  readonly #next: readonly number[];
  /** By place, when the newest candidate was taken that comes before that deletion, from this place on. */
  readonly #newestMs: readonly number[];

  /** In their order. */
  constructor(all: readonly ClusterTimelineEntry[]) {
    const next = [all.length];
    const newestMs = [0];
    for (const [index, entry] of all.toReversed().entries()) {
      const isDeleted = isDeletion(entry);
      const takenMs = entry.what === 'candidate' ? (entry.clusterTimeMs ?? 0) : 0;
      next.push(isDeleted ? all.length - 1 - index : (next.at(-1) ?? all.length));
      newestMs.push(isDeleted ? 0 : Math.max(takenMs, newestMs.at(-1) ?? 0));
    }
    this.#next = next.toReversed();
    this.#newestMs = newestMs.toReversed();
  }

  /** The agent may see it go before the executor tells so: until it is told again, a result tells of the same deletion. */
  has(settled: Settled, { place, begin }: { readonly place: number; readonly begin: number }): boolean {
    const deletion = this.#next[begin] ?? 0;
    if (deletion === this.#next.at(-1)) return false;
    return deletion < place || (this.#newestMs[place + 1] ?? 0) <= (settled.clusterTimeMs ?? 0);
  }
}

const isDeletion = (entry: ClusterTimelineEntry): boolean =>
  entry.what === 'result' && (entry.outcome === 'removed' || entry.outcome === 'accepted');

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

const repeatable = ({ loggedAtMs, clusterTimeMs }: Moment) => ({
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
