import type { ClusterDecision, ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import { type ClusterObject, kindName } from '../../schemas/events/cluster-objects.ts';
import {
  type ClusterCommandResult,
  type ClusterObjectResults,
  foundLater,
} from '../../schemas/events/cluster-result.ts';
import type { ClusterDeciderName } from '../../schemas/events/deciders.ts';
import { compareText } from '../../schemas/events/text-order.ts';
import type { Collector } from '../../schemas/policy/cluster-policy.ts';
import type {
  ClusterChanged,
  ClusterConcluded,
  ClusterRemoved,
  ClustersReport,
} from '../../schemas/reports/clusters-report.ts';
import type { TopicTakers } from '../audit/events/reading.ts';
import type { EventReader } from '../audit/events/record-reader.ts';
import type { LogRecord } from '../log/port.ts';
import { mostOf } from '../process/collections.ts';

/** Facts whose objects decisions may name. */
const FACT_TOPICS = ['clusterOwnership', 'clusterExpiry', 'clusterPods'] as const;
export const REPORTED_OF_CLUSTERS = [...FACT_TOPICS, 'clusterDecisions', 'clusterResults'] as const;
type ReportedTopic = (typeof REPORTED_OF_CLUSTERS)[number];
type FactTopic = (typeof FACT_TOPICS)[number];

/** A decision follows its fact soon; what was taken for it is among the last so many of its partition. */
const KEPT_FACTS = 64;

type ToldObject = ClusterObjectResults['objects'][number];
type Told = Omit<ClustersReport, 'policyChanges' | 'approvals'>;
type Stayed<List extends 'refused' | 'failed'> = Omit<ClustersReport[List][number], 'objects'>;
type RemovedKey = Omit<ClusterRemoved, 'objects' | 'waiting'> & { readonly waits: boolean };

/** Sums up what the log says of clusters, partition by partition. */
export class ClusterTally {
  readonly #read: EventReader;
  readonly #clusters = new Set<string>();
  readonly #decisions = new Counts<Omit<ClustersReport['decisions'][number], 'decisions'>>(
    ({ decider, outcome }) => `${decider} ${outcome}`,
  );
  readonly #removed = new Counts<RemovedKey>((thing) => JSON.stringify(thing));
  readonly #changed = new Counts<Omit<ClusterChanged, 'objects'>>((thing) => JSON.stringify(thing));
  readonly #refused = new Counts<Stayed<'refused'>>((thing) => JSON.stringify(thing));
  readonly #failed = new Counts<Stayed<'failed'>>((thing) => JSON.stringify(thing));
  readonly #unreported = new Counts<Omit<ClustersReport['unreported'][number], 'objects'>>((thing) =>
    JSON.stringify(thing),
  );
  readonly #refusedCommands = new Counts<Omit<ClustersReport['refusedCommands'][number], 'commands'>>(
    (thing) => JSON.stringify(thing),
  );
  readonly #held = new ConcludedObjects();
  readonly #wouldGo = new ConcludedObjects();
  #goneAlready = 0;
  #rehearsed = 0;
  #unnamed = 0;
  /** As they were read, by topic and offset: few are ever asked for. */
  #facts = new Map<string, { readonly topicId: FactTopic; readonly record: LogRecord }>();

  readonly takers: TopicTakers<ReportedTopic, void> = {
    clusterOwnership: (record) => this.#keepFact('clusterOwnership', record),
    clusterExpiry: (record) => this.#keepFact('clusterExpiry', record),
    clusterPods: (record) => this.#keepFact('clusterPods', record),
    clusterDecisions: (record) => this.#takeDecision(record),
    clusterResults: (record) => this.#takeResult(record),
  };

  constructor(read: EventReader) {
    this.#read = read;
  }

  endPartition(): void {
    this.#facts = new Map();
  }

  told(): Told {
    return {
      clusters: this.#clusters.size,
      decisions: this.#decisions.mostFirst().map(({ thing, count: decisions }) => ({ ...thing, decisions })),
      removed: removedRows(
        this.#removed
          .mostFirst()
          .map(({ thing: { waits, ...row }, count: objects }) => ({ row, objects, waits })),
      ),
      changed: this.#changed.mostFirst().map(({ thing, count: objects }) => ({ ...thing, objects })),
      goneAlready: this.#goneAlready,
      rehearsed: this.#rehearsed,
      held: this.#held.told(),
      wouldGo: this.#wouldGo.told(),
      unnamed: this.#unnamed,
      refused: this.#refused.mostFirst().map(({ thing, count: objects }) => ({ ...thing, objects })),
      failed: this.#failed.mostFirst().map(({ thing, count: objects }) => ({ ...thing, objects })),
      unreported: this.#unreported.mostFirst().map(({ thing, count: objects }) => ({ ...thing, objects })),
      refusedCommands: this.#refusedCommands
        .mostFirst()
        .map(({ thing, count: commands }) => ({ ...thing, commands })),
    };
  }

  #keepFact(topicId: FactTopic, record: LogRecord): void {
    this.#clusters.add(record.key ?? '');
    this.#facts.set(`${record.topic}@${record.offset}`, { topicId, record });
    const [oldest] = this.#facts.keys();
    if (this.#facts.size > KEPT_FACTS && oldest !== undefined) this.#facts.delete(oldest);
  }

  #takeDecision(record: LogRecord): void {
    const decision = this.#read.newEvent('clusterDecisions', record);
    if (decision === null) return;
    this.#clusters.add(decision.cluster);
    this.#decisions.add({ decider: decision.decider.name, outcome: decision.outcome });
    this.#conclude(decision, record.timestampMs);
  }

  /** What another collector would delete is not held, whatever the verdict. */
  #conclude(decision: ClusterDecision, atMs: number): void {
    const { outcome, verdicts, input } = decision;
    if (outcome === 'not-ours') return;
    const isDryRun = outcome === 'dry-run';
    const wanted = verdicts.filter(({ action }) => action === 'hold' || (isDryRun && action !== 'keep'));
    if (wanted.length === 0) return;
    const objects = this.#objectsOf(`${input.topic}@${input.offset}`);
    if (objects === null) this.#unnamed++;
    for (const { position, action, rule } of wanted) {
      const object = objects?.[position];
      if (object === undefined) continue;
      (action === 'hold' ? this.#held : this.#wouldGo).add(decision, { object, rule, atMs });
    }
  }

  #objectsOf(place: string): readonly Pick<ClusterObject, 'group' | 'kind' | 'uid'>[] | null {
    const kept = this.#facts.get(place);
    const fact = kept === undefined ? null : this.#read.event(kept.topicId, kept.record);
    return fact?.candidates.map(({ object }) => object) ?? null;
  }

  #takeResult(record: LogRecord): void {
    const result = this.#read.newEvent('clusterResults', record);
    if (result === null) return;
    this.#clusters.add(result.cluster);
    if (result.type === 'fleetgc.cluster.command-result') this.#takeRefusal(result);
    if (result.type === 'fleetgc.cluster.object-results')
      for (const told of result.objects) this.#takeObject(result.cluster, told);
  }

  #takeRefusal({ cluster, result }: ClusterCommandResult): void {
    if (result.outcome === 'refused') this.#refusedCommands.add({ cluster, reason: result.reason });
  }

  #takeObject(cluster: string, { object, rule, action, ownRule, result }: ToldObject): void {
    const kind = kindName(object);
    const collector = COLLECTOR_OF_DECIDER[DECIDER_OF_ACTION[action]](rule);
    const found = foundLater(result);
    if (found !== null) {
      this.#unreported.add({ cluster, kind, found });
      return;
    }
    switch (result.outcome) {
      case 'removed':
      case 'accepted':
        this.#removed.add({
          cluster,
          kind,
          collector,
          rule,
          ownRule: ownRule ?? null,
          waits: result.outcome === 'accepted',
        });
        break;
      case 'patched':
        this.#changed.add({ cluster, kind, collector, rule, action });
        break;
      case 'not-found':
        this.#goneAlready++;
        break;
      case 'rehearsed':
        this.#rehearsed++;
        break;
      case 'refused':
        this.#refused.add({ cluster, kind, reason: result.reason });
        break;
      case 'failed':
        this.#failed.add({ cluster, kind, reason: result.reason });
        break;
    }
  }
}

/** Each row once, the most objects first: what finalizers hold counts too, beside what went at once. */
export function removedRows<Row extends object>(
  counts: readonly { readonly row: Row; readonly objects: number; readonly waits: boolean }[],
): (Row & { objects: number; waiting: number })[] {
  const rows = new Map<string, Row & { objects: number; waiting: number }>();
  for (const { row, objects, waits } of counts) {
    const key = JSON.stringify(row);
    const known = rows.get(key) ?? { objects: 0, waiting: 0 };
    const waiting = known.waiting + (waits ? objects : 0);
    rows.set(key, { ...row, objects: known.objects + objects, waiting });
  }
  return [...rows.values()].toSorted((a, b) => b.objects - a.objects);
}

/** Whose work it is where FleetGC does not do it; `null` by a rule of the policy. */
type CollectorOf = (rule: string) => Collector | null;

/** By what may be over: TTL of Jobs, certificate requests, and those of pods. Rules of a policy have none of these. */
const ofTime: CollectorOf = (rule) => {
  if (rule === 'L9') return 'podcertificaterequest-cleaner-controller';
  if (rule.startsWith('L')) return 'certificatesigningrequest-cleaner-controller';
  return rule.startsWith('K') ? 'ttl-after-finished-controller' : null;
};

export const COLLECTOR_OF_DECIDER: Readonly<Record<ClusterDeciderName, CollectorOf>> = {
  'graph-gc': () => 'garbage-collector-controller',
  'pod-gc': () => 'pod-garbage-collector-controller',
  'expiry-gc': ofTime,
};

type Action = ClusterObjectResults['objects'][number]['action'];

/** Results do not name the decider: each action is ordered by one. */
export const DECIDER_OF_ACTION: Readonly<Record<Action, ClusterDeciderName>> = {
  delete: 'graph-gc',
  'drop-references': 'graph-gc',
  finish: 'graph-gc',
  expire: 'expiry-gc',
  'remove-pod': 'pod-gc',
};

type Concluded = Omit<ClusterConcluded, 'objects'>;

/** Objects of which decisions say one thing, each once however often it was decided. */
export class ConcludedObjects {
  /** By cluster and uid. */
  readonly #objects = new Map<string, Concluded>();

  /** `atMs`: by the log's clock. */
  add(
    { cluster, decider }: ClusterDecision,
    {
      object,
      rule,
      atMs,
    }: Pick<ClusterVerdict, 'rule'> & {
      readonly object: Pick<ClusterObject, 'group' | 'kind' | 'uid'>;
      readonly atMs: number;
    },
  ): void {
    const collector = COLLECTOR_OF_DECIDER[decider.name](rule);
    this.#objects.set(`${cluster} ${object.uid}`, {
      cluster,
      kind: kindName(object),
      collector,
      rule,
      lastMs: atMs,
    });
  }

  /** The most first, equals by their names. */
  told(): ClusterConcluded[] {
    return [...Map.groupBy(this.#objects.values(), nameOf)]
      .map(([name, group]) => ({ name, told: sumOf(group) }))
      .toSorted((a, b) => b.told.objects - a.told.objects || compareText(a.name, b.name))
      .map(({ told }) => told);
  }
}

const nameOf = ({ cluster, kind, collector, rule }: Concluded): string =>
  JSON.stringify([cluster, kind, collector, rule]);

function sumOf(group: readonly Concluded[]): ClusterConcluded {
  const [first] = group;
  if (first === undefined) throw new Error('no group is empty');
  return { ...first, objects: group.length, lastMs: mostOf(group.map(({ lastMs }) => lastMs)) };
}

/** Counts equal things: the key tells them apart, the thing is kept as it came first. */
export class Counts<Thing> {
  readonly #counted = new Map<string, { readonly thing: Thing; count: number }>();
  readonly #keyOf: (thing: Thing) => string;

  constructor(keyOf: (thing: Thing) => string) {
    this.#keyOf = keyOf;
  }

  add(thing: Thing): void {
    const key = this.#keyOf(thing);
    const known = this.#counted.get(key);
    if (known === undefined) this.#counted.set(key, { thing, count: 1 });
    else known.count++;
  }

  /** The most frequent first, equals by their keys. */
  mostFirst(): readonly { readonly thing: Thing; readonly count: number }[] {
    return [...this.#counted]
      .toSorted(([a, first], [b, second]) => second.count - first.count || compareText(a, b))
      .map(([, entry]) => entry);
  }
}
