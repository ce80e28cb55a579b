import { isRemoval } from '../../../schemas/events/cluster-command.ts';
import type { ClusterCommandIntent, IntendedObject } from '../../../schemas/events/cluster-intent.ts';
import {
  type ClusterObjectOutcome,
  type FoundLater,
  foundLater,
} from '../../../schemas/events/cluster-result.ts';
import { type OpenIntent, OpenIntents } from './intents.ts';
import type { ExecutorPorts, ResultEvent } from './ports.ts';
import { ownerKey, PODS_OF_MISSING_NODES, RemovalCounts, ruleKey } from './rates.ts';

type OutcomeName = ClusterObjectOutcome['outcome'];

/** An object that went in an earlier life of the executor. */
interface EarlierRemoval {
  /** By the API server's clock. */
  readonly serverMs: number;
  /** Owners, the rule of a policy, and missing nodes, for which it counts, each by its key. */
  readonly countsFor: readonly string[];
}

/** What an executor learns from its own results on the log when it starts: they are its journal. */
export interface RecentResults {
  /** Commands that have their result. */
  readonly answered: ReadonlySet<string>;
  /** By command: what came of objects, by uid. */
  readonly objects: ReadonlyMap<string, ReadonlyMap<string, OutcomeName>>;
  readonly removals: readonly EarlierRemoval[];
  /** Owners, by uid, that were to be let go so that their dependents stay (cluster E3). */
  readonly orphaned: ReadonlySet<string>;
  /** What was announced, and of which no result tells. */
  readonly open: readonly OpenIntent[];
}

export const NO_RESULTS: RecentResults = {
  answered: new Set(),
  objects: new Map(),
  removals: [],
  orphaned: new Set(),
  open: [],
};

/** In the order of the log. A result that is there twice counts once. */
export function recentResults(events: Iterable<ResultEvent>): RecentResults {
  const read = new RecentReading();
  for (const event of events) read.take(event);
  return read;
}

class RecentReading implements RecentResults {
  readonly answered = new Set<string>();
  readonly objects = new Map<string, Map<string, OutcomeName>>();
  readonly removals: EarlierRemoval[] = [];
  readonly orphaned = new Set<string>();
  /** Objects of commands whose removal is counted. */
  readonly #counted = new Set<string>();
  readonly #intents = new OpenIntents();

  get open(): readonly OpenIntent[] {
    return this.#intents.open();
  }

  take(event: ResultEvent): void {
    this.#intents.take(event);
    if (event.type === 'fleetgc.cluster.command-intent') {
      this.#takeOrphaned(event);
      return;
    }
    if (event.type === 'fleetgc.cluster.object-results') {
      this.#takeOrphaned(event);
      this.#takeRemovals(event);
    }
    // After its result nothing more is said of a command that is news.
    if (this.answered.has(event.commandId)) return;
    if (event.type === 'fleetgc.cluster.object-results') {
      this.#takeObjects(event);
      return;
    }
    this.answered.add(event.commandId);
    this.objects.delete(event.commandId);
  }

  /** Also where the command seems to be known: whoever orders chooses its id, and may choose one twice. */
  #takeOrphaned({ objects }: ObjectResults | ClusterCommandIntent): void {
    for (const { action, rule, object } of objects)
      if (action === 'finish' && rule === 'E3') this.orphaned.add(object.uid);
  }

  /** Also where another executor told before that it refused the command, or found the object gone. */
  #takeRemovals(event: ObjectResults): void {
    for (const told of event.objects) {
      const name = JSON.stringify([event.commandId, told.object.uid]);
      if (this.#counted.has(name)) continue;
      const removed = removalOf(event, told);
      if (removed.length > 0) this.#counted.add(name);
      this.removals.push(...removed);
    }
  }

  #takeObjects(event: ObjectResults): void {
    const known = this.objects.get(event.commandId) ?? new Map<string, OutcomeName>();
    for (const { object, result } of event.objects)
      if (!known.has(object.uid)) known.set(object.uid, result.outcome);
    this.objects.set(event.commandId, known);
  }
}

type ObjectResults = Extract<ResultEvent, { type: 'fleetgc.cluster.object-results' }>;

function removalOf({ at }: ObjectResults, told: ObjectResults['objects'][number]): readonly EarlierRemoval[] {
  const { result, owners, ownRule, node, action } = told;
  // What is gone by unknown hands counts as gone by those that had announced it.
  const hasGone =
    result.outcome === 'removed' || result.outcome === 'accepted' || foundLater(result) === 'gone';
  if (!isRemoval(told) || !hasGone || at === null) return [];
  const forOwners = owners
    .filter(({ found }) => found === 'absent' || found === 'waiting')
    .map(({ uid }) => ownerKey(uid));
  const isOfMissingNode = action === 'remove-pod' && node?.found === 'absent';
  return [
    {
      serverMs: at.serverMs,
      countsFor: [
        ...forOwners,
        ...(ownRule === undefined ? [] : [ruleKey(ownRule)]),
        ...(isOfMissingNode ? [PODS_OF_MISSING_NODES] : []),
      ],
    },
  ];
}

/** Removals of earlier lives of the executor; where nobody knows how long ago they were, they count as of now. */
export function removalsBefore(recent: RecentResults, { connection, nowMs }: ExecutorPorts): RemovalCounts {
  const removals = new RemovalCounts();
  const atMs = nowMs();
  const time = connection.clock.at(atMs);
  for (const { serverMs, countsFor } of recent.removals) {
    const agoMs = time === null ? 0 : Math.max(0, time.earliestMs - serverMs);
    removals.wentBefore(atMs - agoMs, countsFor);
  }
  // Of what was announced and not told nobody knows yet whether it went.
  for (const { objects } of recent.open)
    for (const each of objects.values())
      if (isRemoval(each)) {
        removals.take(each.object.uid, atMs, Number.POSITIVE_INFINITY);
        for (const key of keysOf(each)) removals.beside(key, each.object.uid, atMs);
      }
  return removals;
}

/** What limits a removal by itself: the rule of a policy, and missing nodes, of which an intent does not say whether its pod is on one. */
const keysOf = ({ action, ownRule }: IntendedObject): readonly string[] => [
  ...(ownRule === undefined ? [] : [ruleKey(ownRule)]),
  ...(action === 'remove-pod' ? [PODS_OF_MISSING_NODES] : []),
];

/** What an announced object was found to be: only of what is unchanged it is certain that it did not go. */
export function noteSettled(
  removals: RemovalCounts,
  each: IntendedObject,
  found: FoundLater,
  nowMs: number,
): void {
  const { uid } = each.object;
  removals.letGo(uid);
  if (!isRemoval(each) || found === 'unchanged') return;
  for (const key of keysOf(each)) removals.mayHaveGone(key, uid, nowMs);
}
