import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import { type ListOutcome, listObjects, readClusterInstance } from '../../../packages/kube-api/list.ts';
import { replaceStatus } from '../../../packages/kube-api/object-status.ts';
import { refusalText } from '../../../packages/kube-api/status.ts';
import type { LogReader } from '../../../packages/log/port.ts';
import type { PolicyChange } from '../../../packages/policy/policy-changes.ts';
import type { StoredPolicies } from '../../../packages/policy/stored-policies.ts';
import { deleteKeys, type PolicyWriter, writePolicies } from '../../../packages/policy/write-policies.ts';
import { FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';
import { createPeriodicYield } from '../../../packages/process/event-loop.ts';
import type { Metrics } from '../../../packages/process/metrics.ts';
import type { Sources } from '../../../packages/process/system-sources.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import { isPolicyFor, type PolicySet } from '../../../schemas/policy/policy.ts';
import { POLICY_OBJECTS } from '../../../schemas/policy/policy-object.ts';
import type { SelectableNode } from '../../../schemas/policy/policy-selection.ts';
import { heardNodes, type PolicyReach, reachesOf, type Standing, statusOf } from './object-status.ts';
import { changesAnything, planWrites, type Verdict, type WritePlan } from './plan-writes.ts';
import { broughtBy, POLICY_FORM, type PolicyObject } from './written-policy.ts';

/**
 * More than people write for one cluster; with more of them nothing is changed.
 * @limit Policies of one cluster written as Kubernetes objects.
 */
const MOST_OBJECTS = 500;
/** Of the specs of all of them together: each pass reads them, and each node of the fleet. */
const MOST_CHARACTERS = 1_000_000;

/** Whoever changes an object again and again has the log read for it no more often. */
const COUNT_AGAIN_MS = 30_000;

/** What a pass has done. */
export interface PassDone {
  readonly applied: number;
  readonly deleted: number;
  readonly objects: number;
  readonly notReady: number;
  /** Why not all of it could be written. */
  readonly problem: FleetGcError | null;
}

interface Seen {
  readonly plan: WritePlan;
  readonly set: PolicySet;
  /** What stands under the name of each policy of ours. */
  readonly standing: ReadonlyMap<string, Standing>;
}

/**
 * Makes the event log say what the cluster says, and tells each object what became of it. Each pass looks at everything anew, so
 * what was missed once is done by the next one, and two at once write the same. Where not all objects can be listed, nothing is done.
 */
export class PolicyReconciler {
  readonly #parts: ControllerParts;
  /** As they were counted last. */
  #nodes: readonly SelectableNode[] | null = null;
  #countedAtMs: number | null = null;

  constructor(parts: ControllerParts) {
    this.#parts = parts;
  }

  /** Throws `API_REFUSED` and whatever the API server and the event log reject with. */
  async pass(signal: AbortSignal): Promise<PassDone> {
    const objects = await this.#list(signal);
    const before = this.#followed(objects) ?? (await this.#read(objects, signal));
    const written = changesAnything(before.plan) ? await this.#write(objects, signal) : NOTHING_WRITTEN;
    const after = written === NOTHING_WRITTEN ? before : await this.#read(objects, signal);
    const heard = await this.#heard(written !== NOTHING_WRITTEN || hasNews(objects), signal);
    const notReady = await this.#tell(after, { failures: written.failures, heard }, signal);
    const { applied, deleted, problem } = written;
    return { applied, deleted, objects: after.plan.verdicts.length, notReady, problem };
  }

  /** All of them. */
  async #list(signal: AbortSignal): Promise<readonly PolicyObject[]> {
    const { connection } = this.#parts;
    const objects: PolicyObject[] = [];
    const what = { resource: POLICY_OBJECTS, form: POLICY_FORM };
    const take = (page: readonly PolicyObject[]): void => {
      // One that is too much is enough to refuse them all.
      for (const object of page) if (excess(objects) === null) objects.push(object);
    };
    requireWhole(await listObjects(connection, what, take, signal));
    requireFew(objects);
    return objects;
  }

  /** `null` where a look at the log has to tell more: something is to be changed, or nobody knows since when something stands. */
  #followed(objects: readonly PolicyObject[]): Seen | null {
    const set = this.#followedSet();
    if (set === null) return null;
    const seen = this.#seen(objects, set, () => null);
    const lacksTime = seen.plan.verdicts.some(
      ({ name, object: { status } }) =>
        seen.standing.get(name)?.policyVersion !== status?.policyVersion ||
        (seen.standing.has(name) && status?.lastChangeTime === undefined),
    );
    return changesAnything(seen.plan) || lacksTime ? null : seen;
  }

  /** `null` while nobody can tell. */
  #followedSet(): PolicySet | null {
    try {
      return this.#parts.policies.followed();
    } catch (error) {
      if (toFleetGcError(error).code === 'POLICIES_UNREADABLE') return null;
      throw error;
    }
  }

  async #read(objects: readonly PolicyObject[], signal: AbortSignal): Promise<Seen> {
    const stored = await this.#parts.policies.read(signal);
    return this.#seen(objects, stored.sets.node, (name) => appliedAtMs(stored, name));
  }

  #seen(objects: readonly PolicyObject[], set: PolicySet, sinceMs: (name: string) => number | null): Seen {
    const { identity } = this.#parts;
    const ours = set.policies.filter((record) => broughtBy(record) === identity.clusterInstance);
    return {
      set,
      plan: planWrites({ objects, standing: set.policies, identity }),
      standing: new Map(
        ours.map(({ policy: { name }, policyVersion }) => [
          name,
          { policyVersion, appliedAtMs: sinceMs(name) },
        ]),
      ),
    };
  }

  /** Looks once more at what lies there right now, and writes what differs. */
  async #write(objects: readonly PolicyObject[], signal: AbortSignal): Promise<Written> {
    await this.#requireSameCluster(signal);
    const { plan } = await this.#read(objects, signal);
    return await writeChanges(plan, this.#parts, signal);
  }

  /** Behind one address another cluster can come up, and in that one none of our objects lies. Throws `API_REPLACED`. */
  async #requireSameCluster(signal: AbortSignal): Promise<void> {
    const { connection, identity } = this.#parts;
    const found = await readClusterInstance(connection, signal);
    if (found !== identity.clusterInstance)
      throw new FleetGcError('API_REPLACED', replacedText(identity, found));
  }

  /** Where they cannot be counted, nothing is said of them. */
  async #heard(isWanted: boolean, signal: AbortSignal): Promise<readonly SelectableNode[] | null> {
    const { log, identity, sources, countNodesEveryMs, logger } = this.#parts;
    const nowMs = sources.monotonicNow();
    const everyMs = isWanted ? Math.min(COUNT_AGAIN_MS, countNodesEveryMs) : countNodesEveryMs;
    if (this.#countedAtMs !== null && nowMs - this.#countedAtMs < everyMs) return this.#nodes;
    this.#countedAtMs = nowMs;
    try {
      this.#nodes = await heardNodes({ log, cluster: identity.cluster, nowMs: sources.now() }, signal);
    } catch (error) {
      logger.warn({ err: toFleetGcError(error) }, 'the nodes of the cluster cannot be counted');
    }
    return this.#nodes;
  }

  /** How many are not ready. */
  async #tell(
    { plan, set, standing }: Seen,
    {
      failures,
      heard,
    }: { readonly failures: Written['failures']; readonly heard: readonly SelectableNode[] | null },
    signal: AbortSignal,
  ): Promise<number> {
    const yieldToEventLoop = createPeriodicYield(this.#parts.sources.monotonicNow);
    const reaches = heard && (await reachesOf([...standing.keys()], heard, { set, yieldToEventLoop }));
    let notReady = 0;
    for (const verdict of plan.verdicts) {
      const { name } = verdict;
      notReady += Number(
        !(await this.#tellOne(
          {
            verdict,
            reach: reaches?.get(name) ?? null,
            standing: standing.get(name) ?? null,
            failure: failures.get(name) ?? null,
          },
          signal,
        )),
      );
    }
    return notReady;
  }

  /** Whether it is ready. Who changed the object meanwhile has woken the next pass, which tells it. */
  async #tellOne(
    told: {
      readonly verdict: Verdict;
      readonly standing: Standing | null;
      readonly failure: string | null;
      readonly reach: PolicyReach | null;
    },
    signal: AbortSignal,
  ): Promise<boolean> {
    const { connection, sources, logger } = this.#parts;
    const { object } = told.verdict;
    const after = statusOf({ ...told, nowMs: sources.now() });
    const isReady = after.conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    if (isDeepStrictEqual(after, object.statusAsRead)) return isReady;
    const { namespace, name, uid, resourceVersion } = object;
    const target = {
      resource: POLICY_OBJECTS,
      named: { namespace, name },
      judged: { uid, resourceVersion },
    };
    const answer = await replaceStatus(connection, target, { before: object.statusAsRead, after });
    if (answer.status !== 200 && !PASSED.has(answer.status) && !signal.aborted)
      logger.warn({ policy: name }, `its status cannot be written: ${refusalText(answer)}`);
    return isReady;
  }
}

/** It is gone, or newer than what was judged. */
const PASSED: ReadonlySet<number> = new Set([404, 409]);

function requireWhole(outcome: ListOutcome): void {
  if (outcome.kind === 'complete') return;
  throw new FleetGcError(
    'API_REFUSED',
    `the objects of kind ${POLICY_OBJECTS.kind} cannot be listed, so nothing is changed: ${outcome.message}`,
  );
}

function requireFew(objects: readonly PolicyObject[]): void {
  const which = excess(objects);
  if (which === null) return;
  throw new FleetGcError(
    'API_REFUSED',
    `there are ${which} of kind ${POLICY_OBJECTS.kind}, and nothing is done while there are`,
  );
}

/** Of what there is too much; `null` where there is not. */
function excess(objects: readonly PolicyObject[]): string | null {
  if (objects.length > MOST_OBJECTS) return `more than ${MOST_OBJECTS} objects`;
  const characters = objects.reduce((sum, { specCharacters }) => sum + specCharacters, 0);
  return characters > MOST_CHARACTERS ? `more than ${MOST_CHARACTERS} characters in the objects` : null;
}

const replacedText = ({ cluster, clusterInstance }: ClusterIdentity, found: string): string =>
  `the API server is that of another cluster now (kube-system ${found}), and the policies are those of ${cluster} (kube-system ${clusterInstance}), so nothing is changed; started again, this controller works for the other one`;

/** Whether nobody has told of what is written there now. */
const hasNews = (objects: readonly PolicyObject[]): boolean =>
  objects.some(({ generation, status }) => status?.observedGeneration !== generation);

const appliedAtMs = ({ policies }: StoredPolicies, name: string): number | null => {
  const stored = policies.get(name);
  return stored !== undefined && isPolicyFor('node', stored) ? stored.appliedAtMs : null;
};

interface Written {
  readonly applied: number;
  readonly deleted: number;
  /** Why what was wanted does not stand there, by the name of the policy. */
  readonly failures: ReadonlyMap<string, string>;
  /** The last of them. */
  readonly problem: FleetGcError | null;
}

const NOTHING_WRITTEN: Written = { applied: 0, deleted: 0, failures: new Map(), problem: null };

/** As deletions say who did it. */
const BY = 'policy-controller';

interface Deed {
  readonly name: string;
  readonly what: 'applied' | 'deleted';
  readonly run: (writer: PolicyWriter) => Promise<void>;
}

/** Applies before it deletes, each by itself, so that what cannot be written stands in nobody else's way. */
export async function writeChanges(
  plan: WritePlan,
  { policies, logger }: Pick<ControllerParts, 'policies' | 'logger'>,
  signal: AbortSignal,
): Promise<Written> {
  if (!changesAnything(plan)) return NOTHING_WRITTEN;
  const deeds = deedsOf(plan);
  const failures = new Map<string, string>();
  const done = { applied: 0, deleted: 0 };
  let problem: FleetGcError | null = null;
  const failed = (names: readonly string[], thrown: unknown): void => {
    problem = toFleetGcError(thrown);
    for (const name of names) failures.set(name, problem.message);
  };
  try {
    const writer = await policies.openWriter(signal);
    for (const { name, what, run } of deeds) {
      // Whoever has taken over may have written something newer by now.
      if (signal.aborted) break;
      try {
        await run(writer);
        done[what] += 1;
        logger.info({ policy: name }, what);
      } catch (error) {
        failed([name], error);
      }
    }
  } catch (error) {
    failed(
      deeds.map(({ name }) => name),
      error,
    );
  }
  return { ...done, failures, problem };
}

const deedsOf = ({ verdicts, deletions }: WritePlan): readonly Deed[] => [
  ...verdicts.flatMap((verdict) =>
    verdict.kind === 'policy' && verdict.change.kind !== 'unchanged'
      ? [applying(verdict.name, verdict.change)]
      : [],
  ),
  ...deletions.map(deleting),
];

const applying = (name: string, change: PolicyChange): Deed => ({
  name,
  what: 'applied',
  run: (writer) => writePolicies(writer, [change]),
});

const deleting = (name: string): Deed => ({
  name,
  what: 'deleted',
  run: (writer) => deleteKeys(writer, [name], { by: BY, reason: 'its object is gone' }),
});

/** The policies of the log, as this process sees and changes them. */
export interface PolicyLog {
  /** As it follows them. Throws `POLICIES_UNREADABLE`. */
  readonly followed: () => PolicySet;
  /** What lies there right now, read anew. */
  readonly read: (signal: AbortSignal) => Promise<StoredPolicies>;
  /** Throws `KEY_UNUSABLE` where nobody would believe the key of this process. */
  readonly openWriter: (signal: AbortSignal) => Promise<PolicyWriter>;
}

export interface ControllerParts {
  readonly identity: ClusterIdentity;
  readonly connection: ApiConnection;
  readonly policies: PolicyLog;
  readonly log: LogReader;
  readonly countNodesEveryMs: number;
  readonly sources: Pick<Sources, 'now' | 'monotonicNow' | 'random' | 'wait'>;
  readonly metrics: Metrics;
  readonly logger: Logger;
}
