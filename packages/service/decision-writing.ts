import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { DECIDERS, type DeciderNameFor } from '../../schemas/events/deciders.ts';
import type { SubjectKind } from '../../schemas/events/identity.ts';
import type { PolicySetOf } from '../../schemas/policy/policy.ts';
import type { Output } from '../decision/handler.ts';
import { overtakenHandler } from '../decision/overtaken-record.ts';
import { policySetRecord } from '../decision/policy-set.ts';
import type { EventLog } from '../log/port.ts';
import { waitAtMost } from '../log/stopping.ts';
import type { Metrics } from '../process/metrics.ts';
import type { TraceIds } from '../process/trace.ts';
import type { Tracer } from '../process/tracer.ts';
import type { Handlers, OnEvent, OnOutputs, OnOvertaken } from '../records/decide.ts';
import { createPublisher, type Publisher, serviceSource } from '../records/publisher.ts';
import type { Signer } from '../records/trust/signer.ts';
import { DecisionChain, type HeadSources } from './decision-chain.ts';
import { decisionMetrics } from './decision-metrics.ts';
import { type Belief, KeyGate } from './key-gate.ts';

/** One kind of decision service, whatever process it runs in, and whatever brings its messages. */
export interface DecisionService<Kind extends SubjectKind> {
  readonly name: string;
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
  readonly log: Pick<EventLog, 'publish'> | null;
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
    await (chain ?? log).publish(records);
    counts.acknowledged(records);
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

const NOWHERE: Pick<EventLog, 'publish'> = {
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
