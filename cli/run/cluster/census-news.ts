import { counted } from '../../../packages/text/counted.ts';
import type { Census } from '../../../schemas/events/census.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';

/** What of a census a person may have to see to; `fleetgc cluster report` tells of each. */
export function newsOfCensus({ findings }: Pick<Census, 'findings'>): readonly string[] {
  const { stuckFinalizers, waitingOwners, badReferences, unsyncedKinds, failedGroups } = findings;
  const told = [
    [stuckFinalizers.count, 'object', 'waiting for finalizers of others'],
    [waitingOwners.count, 'owner', 'waiting for dependents'],
    [badReferences.count, 'reference', 'leading nowhere'],
  ] as const;
  const counts = told.flatMap(([count, noun, what]) =>
    count === 0 ? [] : [`${counted(count, noun)} ${what}`],
  );
  return [
    ...(counts.length === 0 ? [] : [`? ${counts.join(', ')}`]),
    ...unsyncedKinds.map((kind) => `? ${kindName(kind)} cannot be read: ${kind.reason}`),
    ...failedGroups.map((group) => `? the group ${group} is not served at the moment`),
  ];
}
