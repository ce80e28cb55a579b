import pLimit from 'p-limit';
import type { Logger } from 'pino';
import type { ClusterDecision, ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import { DECIDERS, type DeciderNameFor } from '../../schemas/events/deciders.ts';
import { DECISIONS } from '../../schemas/events/decision.ts';
import type { DiskStats } from '../../schemas/events/disk-stats.ts';
import type { SubjectKind } from '../../schemas/events/identity.ts';
import type { Observe } from '../../schemas/events/observe.ts';
import { isAtBeginning } from '../../schemas/events/reclaim.ts';
import { type FleetEvent, TOPICS } from '../../schemas/events/topics.ts';
import type { PolicySetOf } from '../../schemas/policy/policy.ts';
import type { Output } from '../decision/handler.ts';
import { overtakenHandler } from '../decision/overtaking.ts';
import { policySetRecord } from '../decision/policy-set.ts';
import type { EventLog, LogPublisher, OutgoingRecord } from '../log/port.ts';
import { waitAtMost } from '../log/stopping.ts';
import type { Metrics } from '../process/metrics.ts';
import type { TraceIds } from '../process/trace.ts';
import type { Tracer } from '../process/tracer.ts';
import type { Handlers, OnEvent, OnOutputs, OnOvertaken } from '../records/decide.ts';
import { createPublisher, type Publisher, serviceSource } from '../records/publisher.ts';
import type { Signer } from '../records/trust/signer.ts';
import { DecisionChain, type HeadSources } from './decision-chain.ts';
import { type Belief, KeyGate } from './key-gate.ts';

/** One kind of decision service, whatever process it runs in, and whatever brings its messages. */
export interface DecisionService<Kind extends SubjectKind> {
  readonly name: string;
  readonly subject: Kind;
  /** The consumer group that its replicas share. */
  readonly group: string;
  handlers(policies: () => PolicySetOf<Kind>): Handlers;
  /** Who watches beside the handlers, without a say in decisions. */
  readonly onEvent?: OnEvent;
  /** Who says so when it catches up and passes over messages for newer ones. */
  readonly decider: { readonly name: DeciderNameFor<Kind>; readonly version: string };
}

/** What decisions are made and written with. */
export interface DecisionWritingDeps<Kind extends SubjectKind> {
  /** `null`: what follows goes to whoever called, and nothing of it is published. */
  readonly log: LogPublisher | null;
  /** All policies of this moment for whom it decides; throws `POLICIES_UNREADABLE`, upon which the messages in hand come again. */
  readonly policies: () => PolicySetOf<Kind>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Nobody traces when not given. */
  readonly tracer?: Tracer | null;
  readonly ids: TraceIds;
  readonly signer: Signer;
  /** `null` where nothing is signed, and so no heads. */
  readonly heads: HeadSources | null;
  /** Nobody asks whether orders count when not given. */
  readonly belief?: Belief;
  /** Epoch milliseconds; for envelopes and metrics, never for a decision. */
  readonly now: () => number;
}

/** How one replica decides, and how what follows reaches the log. */
export interface DecisionWriting {
  readonly handlers: Handlers;
  readonly onOutputs: OnOutputs;
  readonly onOvertaken?: OnOvertaken;
  /** Of decisions and what follows from them: what their set of policies consists of is on the log before the first of them. */
  readonly decisions: Publisher;
  /** Of all else. */
  readonly others: Publisher;
  /** `null` where nobody asks whether orders count. */
  readonly gate: KeyGate | null;
  /** `null` where there are no heads. */
  readonly chain: DecisionChain | null;
}

export function openDecisionWriting<Kind extends SubjectKind>(
  { name, handlers, decider }: DecisionService<Kind>,
  deps: DecisionWritingDeps<Kind>,
): DecisionWriting {
  const { policies, ids, signer, heads, belief, tracer, now, metrics, logger } = deps;
  const log = deps.log ?? NOWHERE;
  const writing = { log, source: serviceSource(name), now, ids, signer, ...(tracer && { tracer }) };
  const others = createPublisher(writing);
  const sets = createPolicySetFacts(policies, deps.log && others);
  const chain =
    heads && new DecisionChain({ log, publisher: others, decider: decider.name, heads, logger, now });
  const gate = belief ? new KeyGate({ decider: decider.name, belief, logger, metrics }) : null;
  const counts = decisionMetrics(metrics, decider.name, now);
  const publish: EventLog['publish'] = async (records) => {
    gate?.require();
    await sets.publish();
    const positions = await (chain ?? log).publish(records);
    counts.acknowledged(records);
    return positions;
  };
  return {
    handlers: handlers(sets.policies),
    onOutputs: counts.decided,
    ...passingOver(decider, sets.policies),
    decisions: createPublisher({ ...writing, log: { publish } }),
    others,
    gate,
    chain,
  };
}

const NOWHERE: LogPublisher = {
  publish: () => Promise.reject(new TypeError('what follows goes to whoever called')),
};

/** How long the last head of a process that ends may take. */
const LAST_HEAD_MS = 2_000;

/** Says in a last head what was written. */
export const endChain = (chain: DecisionChain): Promise<void> => waitAtMost(chain.end(), LAST_HEAD_MS);

/** Facts about nodes alone are passed over for newer ones: those about a cluster say different things each. */
function passingOver(
  { name, version }: { readonly name: string; readonly version: string },
  policies: () => { readonly hash: string },
): { readonly onOvertaken?: OnOvertaken } {
  const ofNodes = DECIDERS.node.safeParse(name).data;
  return ofNodes === undefined ? {} : { onOvertaken: overtakenHandler({ name: ofNodes, version }, policies) };
}

/** Tells the log what each set of policies consisted of under which something was decided. */
interface PolicySetFacts<Kind extends SubjectKind> {
  /** All policies of this moment, for a decision; throws as the source does. */
  readonly policies: () => PolicySetOf<Kind>;
  /** Resolves when every set that was given out is on the log: to be awaited before a decision leaves. */
  publish(): Promise<void>;
}

/** Decisions that wait for the log at once are of the last few sets; each may hold thousands of policies. */
const MOST_UNTOLD_SETS = 16;

/**
 * Each set is told once per process: a set changes only when somebody changes a policy or a pause. `publisher`: `null` where nothing is
 * published, and so nobody has to be told.
 */
export function createPolicySetFacts<Kind extends SubjectKind>(
  policies: () => PolicySetOf<Kind>,
  publisher: Pick<Publisher, 'publish'> | null,
): PolicySetFacts<Kind> {
  if (publisher === null) return { policies, publish: async () => undefined };
  const published = new Set<string>();
  const unpublished = new Map<string, PolicySetOf<SubjectKind>>();
  const inTurn = pLimit(1);
  const publishAll = async (): Promise<void> => {
    const sets = [...unpublished.values()];
    if (sets.length === 0) return;
    await publisher.publish(sets.map(policySetOutput));
    for (const { hash } of sets) {
      published.add(hash);
      unpublished.delete(hash);
    }
  };
  return {
    policies: () => {
      const set = policies();
      if (published.has(set.hash)) return set;
      // The newest stands last.
      unpublished.delete(set.hash);
      unpublished.set(set.hash, set);
      const [oldest] = unpublished.keys();
      if (oldest !== undefined && unpublished.size > MOST_UNTOLD_SETS) unpublished.delete(oldest);
      return set;
    },
    publish: () => inTurn(publishAll),
  };
}

/** The fact that tells what a set consisted of. */
export const policySetOutput = (set: PolicySetOf<SubjectKind>): Output<'policyVersions'> => ({
  topic: 'policyVersions',
  key: set.hash,
  event: policySetRecord(set),
});

/** What is counted of one decider, beside what is counted of its consumer. */
interface DecisionMetrics {
  readonly decided: OnOutputs;
  /** The event log has taken these. */
  acknowledged(records: readonly OutgoingRecord[]): void;
}

type DeciderName = DeciderNameFor<SubjectKind>;

const DECISION_TOPICS: ReadonlySet<string> = new Set([TOPICS.decisions.name, TOPICS.clusterDecisions.name]);

/** `now`: epoch milliseconds. */
export function decisionMetrics(metrics: Metrics, decider: DeciderName, now: () => number): DecisionMetrics {
  const takes = [countDecisions(metrics, decider), ...watchersOf(metrics, decider, now)];
  let lastMs = now();
  metrics.gauge(
    'last_decision_timestamp_seconds',
    'When the event log last took a decision of it, Unix time; before the first, when it started.',
    ['decider'],
    () => [[{ decider }, lastMs / 1000]],
  );
  return {
    decided: (event, stages) => {
      const outputs = stages.flat().map((output) => output.event);
      for (const take of takes) take(event, outputs);
    },
    acknowledged: (records) => {
      if (records.some(({ topic }) => DECISION_TOPICS.has(topic))) lastMs = now();
    },
  };
}

type Take = (event: FleetEvent | null, outputs: readonly FleetEvent[]) => void;

/** Attempts by what came of them, and what was kept and why. */
function countDecisions(metrics: Metrics, decider: DeciderName): Take {
  const { outcome } = (DECIDERS.node.safeParse(decider).success ? DECISIONS.node : DECISIONS.cluster).shape;
  const decisions = metrics.count('decisions_total', 'Decisions, by what came of them.', {
    decider: [decider],
    outcome: outcome.options,
  });
  const verdicts = metrics.occurrences(
    'objects_judged_total',
    'Objects that were judged, each as often as it was, by what is to become of them and by which rule.',
    ['decider', 'action', 'rule'],
  );
  return (_, outputs) => {
    for (const output of outputs) {
      if (output.type !== 'fleetgc.node.decision' && output.type !== 'fleetgc.cluster.decision') continue;
      decisions.add({ decider, outcome: output.outcome });
      for (const { action, rule } of output.verdicts) verdicts.add({ decider, action, rule });
    }
  };
}

/** What only one decider, or those of clusters, can tell. */
function watchersOf(metrics: Metrics, decider: DeciderName, now: () => number): readonly Take[] {
  switch (decider) {
    case 'pressure':
      return [countReclaims(metrics)];
    case 'image-gc':
      return [countUnrelieved(metrics)];
    case 'container-gc':
      return [];
    case 'graph-gc':
    case 'pod-gc':
    case 'expiry-gc':
      return [countHeld(metrics, decider, now)];
  }
}

function countReclaims(metrics: Metrics): Take {
  const begun = metrics.occurrences('reclaims_total', 'Reclaims that began, by what called for them.', [
    'signal',
  ]);
  const wanted = metrics.count(
    'reclaim_wanted_bytes_total',
    'What reclaims wanted when they began: their target less what was available.',
    {},
  );
  return (event, outputs) => {
    if (event?.type !== 'fleetgc.node.disk-stats') return;
    for (const output of outputs) {
      if (output.type !== 'fleetgc.node.observe' || !isAtBeginning(output.reclaim)) continue;
      begun.add({ signal: output.reclaim.cause.signal });
      wanted.add({}, missingBytes(event, output));
    }
  };
}

/** 0 where inodes are wanted. */
function missingBytes({ filesystems }: DiskStats, { reclaim }: Observe): number {
  const { filesystem, resource, atLeast } = reclaim.target;
  const available = filesystems[filesystem]?.availableBytes ?? null;
  if (resource !== 'availableBytes' || available === null) return 0;
  return Math.max(0, Number(BigInt(atLeast) - BigInt(available)));
}

function countUnrelieved(metrics: Metrics): Take {
  const unrelieved = unrelievedReclaims(metrics);
  return (_, outputs) =>
    unrelieved.add({}, outputs.filter(({ type }) => type === 'fleetgc.node.pressure-unrelieved').length);
}

/** Of whoever says so: image-gc, which found nothing to remove, or the executor, which measured. */
const unrelievedReclaims = (metrics: Metrics) =>
  metrics.count('reclaims_unrelieved_total', 'Reclaims that ended above their target.', {});

function countHeld(metrics: Metrics, decider: DeciderName, now: () => number): Take {
  const held = new HeldCount(now);
  metrics.gauge(
    'objects_held',
    'Objects of clusters that wait for somebody who approves them, by the rule that holds them.',
    ['decider', 'rule'],
    () => [...held.byRule()].map(([rule, objects]) => [{ decider, rule }, objects]),
  );
  return (event, outputs) => {
    for (const output of outputs) if (output.type === 'fleetgc.cluster.decision') held.take(event, output);
  };
}

interface Held {
  readonly rule: string;
  readonly atMs: number;
}

/** An agent tells each candidate again within ten minutes: who is not told again has gone. */
const TOLD_WITHIN_MS = 15 * 60_000;
/**
 * Anybody who may write facts can make up objects: more are not counted.
 * @limit Held objects that a decision service counts.
 */
const MOST_HELD = 100_000;

/** How many objects one decider holds at this moment, as its last decisions say. */
export class HeldCount {
  readonly #held = new Map<string, Held>();
  readonly #now: () => number;

  /** `now`: epoch milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** `event`: the fact that was decided on. */
  take(event: FleetEvent | null, { outcome, verdicts }: ClusterDecision): void {
    const fact = factOf(event);
    if (fact === null) return;
    const keyOf = (uid: string): string => `${fact.cluster} ${uid}`;
    if ('settled' in fact) for (const { uid } of fact.settled) this.#held.delete(keyOf(uid));
    for (const verdict of verdicts) {
      const candidate = fact.candidates[verdict.position];
      if (candidate !== undefined) this.#judged(keyOf(candidate.object.uid), verdict, outcome);
    }
  }

  #judged(key: string, { action, rule }: ClusterVerdict, outcome: ClusterDecision['outcome']): void {
    if (action !== 'hold' || outcome === 'not-ours') this.#held.delete(key);
    else if (this.#held.has(key) || this.#held.size < MOST_HELD)
      this.#held.set(key, { rule, atMs: this.#now() });
  }

  byRule(): ReadonlyMap<string, number> {
    const since = this.#now() - TOLD_WITHIN_MS;
    for (const [key, { atMs }] of this.#held) if (atMs < since) this.#held.delete(key);
    const rules = [...this.#held.values()].map(({ rule }) => rule);
    return new Map([...Map.groupBy(rules, (rule) => rule)].map(([rule, { length }]) => [rule, length]));
  }
}

function factOf(event: FleetEvent | null) {
  switch (event?.type) {
    case 'fleetgc.cluster.ownership':
    case 'fleetgc.cluster.pods':
    case 'fleetgc.cluster.expiry':
      return event;
    default:
      return null;
  }
}
