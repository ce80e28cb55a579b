import type { ClusterDecision, ClusterVerdict } from '../../../../schemas/events/cluster-decision.ts';
import { type ClusterObject, kindName } from '../../../../schemas/events/cluster-objects.ts';
import { compareText } from '../../../../schemas/events/text-order.ts';
import type { ClusterConcluded } from '../../../../schemas/reports/clusters-report.ts';
import { mostOf } from '../../../process/least-and-most.ts';
import { COLLECTOR_OF_DECIDER } from './collectors.ts';

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
