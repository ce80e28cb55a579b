import { jobStateOf } from '../../../../packages/deciders/expiry-gc/rules/own-rules.ts';
import type { LabelsAsked } from '../../../../packages/kube-api/expiring.ts';
import type { ResourceKind } from '../../../../packages/owner-graph/kinds.ts';
import type { JobState } from '../../../../schemas/events/expiry.ts';
import type { AgentParts } from '../agent-parts.ts';
import { Mirror } from '../watching/mirror.ts';
import { JOB_RESOURCE } from '../watching/observed-object.ts';
import type { ReflectorSink } from '../watching/reflector.ts';
import { ExpiryBook, type ExpiryBookOptions } from './expiry-book.ts';
import { RulesInForce } from './rules-in-force.ts';

/** How soon a changed policy counts. */
const LOOK_EVERY_MS = 1_000;

/** Objects whose time comes: by themselves, and by the rules of the policy in force. */
export class ExpiryWatch {
  readonly book: ExpiryBook;
  /** What is read of the cluster goes to these. */
  readonly sinks: readonly ReflectorSink[];
  readonly #policy: AgentParts['policy'];
  readonly #rules = new RulesInForce();
  readonly #jobs = new Mirror<JobState>({
    of: JOB_RESOURCE,
    rowOf: (_, { expiring }) => jobStateOf(expiring?.facts ?? null),
  });

  constructor(
    graph: Pick<ExpiryBookOptions, 'isKeptNamespace' | 'countObjects'>,
    policy: AgentParts['policy'],
  ) {
    this.#policy = policy;
    this.#rules.update(policy());
    this.book = new ExpiryBook({
      isKeptNamespace: (namespace) => graph.isKeptNamespace(namespace),
      countObjects: (kind) => graph.countObjects(kind),
      rules: (kind) => this.#rules.rules(kind),
      jobState: (uid) => this.#jobs.row(uid) ?? 'unknown',
    });
    this.sinks = [this.#jobs, this.book];
  }

  labelsAsked(kind: ResourceKind): LabelsAsked {
    return this.#rules.labels(kind);
  }

  /** Until the signal aborts. `restart` has a kind read anew for which other rules hold now. */
  async followRules(
    restart: (kind: string) => void,
    sleep: AgentParts['sleep'],
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted) {
      for (const kind of this.#rules.update(this.#policy())) {
        this.book.recount(kind);
        restart(kind);
      }
      await sleep(LOOK_EVERY_MS, signal);
    }
  }
}
