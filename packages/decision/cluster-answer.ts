import { ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import type { ClusterPolicy, Collector } from '../../schemas/policy/cluster-policy.ts';
import type { ClusterConclusion } from './cluster-record.ts';

/** Whether a command follows from these verdicts, and why not. `collector`: whose work it is where FleetGC does not do it; `null` for nobody's. */
export function clusterAnswer(
  { collectors, mode }: Pick<ClusterPolicy, 'collectors' | 'mode'>,
  collector: Collector | null,
  verdicts: readonly ClusterVerdict[],
): Pick<ClusterConclusion, 'outcome' | 'reason'> {
  const plan = sentence(verdicts);
  if (collector !== null && !collectors.includes(collector))
    return { outcome: 'not-ours', reason: `${plan}; the policy does not give ${collector} to FleetGC` };
  if (!verdicts.some(({ action }) => action !== 'keep' && action !== 'hold'))
    return { outcome: 'nothing-to-do', reason: plan };
  if (mode === 'dry-run') return { outcome: 'dry-run', reason: `${plan}; dry-run: no command is sent` };
  if (mode === 'rehearse') return { outcome: 'commanded', reason: `${plan}; rehearse: nothing is done` };
  return { outcome: 'commanded', reason: plan };
}

const WORDS: Readonly<Record<ClusterVerdict['action'], string>> = {
  delete: 'to delete',
  expire: 'to delete as their time is over',
  'drop-references': 'to lose references',
  finish: 'to lose a finalizer',
  'remove-pod': 'to remove',
  keep: 'kept',
  hold: 'held',
};

/** `3 to delete (D14), 1 held (S1)` */
function sentence(verdicts: readonly ClusterVerdict[]): string {
  const byAction = Map.groupBy(verdicts, ({ action }) => action);
  const groups = ClusterVerdict.shape.action.options.flatMap((action) => {
    const group = byAction.get(action);
    return group === undefined ? [] : [`${group.length} ${WORDS[action]} (${rulesOf(group)})`];
  });
  return groups.length === 0 ? 'no candidates' : groups.join(', ');
}

const rulesOf = (verdicts: readonly ClusterVerdict[]): string =>
  [...new Set(verdicts.map(({ rule }) => rule))].toSorted().join(', ');
