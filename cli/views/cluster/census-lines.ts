import type { ToldCensus } from '../../../packages/read-model/censuses.ts';
import { counted } from '../../../packages/text/counted.ts';
import { printableLine } from '../../../packages/text/printable.ts';
import { timeText } from '../../../packages/text/time-text.ts';
import type { Census, CensusFindings, CensusKind, CensusObject } from '../../../schemas/events/census.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { ReferenceState } from '../../../schemas/events/ownership.ts';
import { PROOF } from './held-lines.ts';
import { nameOf } from './object-text.ts';
import { unreadLines } from './unread-lines.ts';

/** How a cluster stands, and whose word it is. */
export function toldCensusLines({ census, proof }: ToldCensus): readonly string[] {
  const [first = '', ...others] = censusLines(census);
  return [`${first}${PROOF[proof]}`, ...others];
}

/** How a cluster stands, for people. */
const censusLines = ({ cluster, takenAt, totals, kinds = [], findings }: Census): readonly string[] =>
  [
    `${cluster} at ${timeText(takenAt.serverMs)}: ${counted(totals.objects, 'object')} of ${counted(totals.kinds, 'kind')}`,
    ...(kinds.length === 0 ? [] : [`Most objects: ${kinds.slice(0, MOST_KINDS).map(kindText).join(', ')}`]),
    ...findingLines(findings),
    ...unreadLines({ unreadKinds: findings.unsyncedKinds, failedGroups: findings.failedGroups }),
  ].map(printableLine);

/** Of the others JSON tells. */
const MOST_KINDS = 5;

const kindText = (kind: CensusKind): string => `${kind.objects} ${kindName(kind)}`;

function findingLines(findings: CensusFindings): readonly string[] {
  const { stuckFinalizers, waitingOwners, badReferences, missingOwners } = findings;
  const lines = [
    ...section('Waiting for finalizers of others', stuckFinalizers, (each) => [
      `${textOf(each.object)}, deleted ${each.deletionTimestamp}: ${each.finalizers.join(', ')}`,
    ]),
    ...section('Waiting for dependents', waitingOwners, (each) => [
      `${textOf(each.object)}, deleted ${each.deletionTimestamp}: ${counted(each.blocking, 'dependent')}, such as ${each.blockers.map(textOf).join(', ')}`,
    ]),
    ...section('References that lead nowhere', badReferences, (each) => [
      `${textOf(each.object)}: ${each.owner.kind} ${each.owner.name}, ${STATES[each.state]}`,
    ]),
    ...section('Missing owners', missingOwners, (each) => [
      `${each.ownerKind} ${each.ownerName} (${each.ownerUid}): at most ${counted(each.objects, 'object')} depended on it, those among them that are deleted by now`,
    ]),
  ];
  return lines.length === 0 ? ['Nothing waits, and no reference leads nowhere.'] : lines;
}

function section<Entry>(
  what: string,
  { count, first }: { readonly count: number; readonly first: readonly Entry[] },
  linesOf: (entry: Entry) => readonly string[],
): readonly string[] {
  if (count === 0) return [];
  const more = count > first.length ? [`  and ${count - first.length} more`] : [];
  return ['', `${what}: ${count}`, ...first.flatMap(linesOf).map((line) => `  ${line}`), ...more];
}

const textOf = (object: CensusObject): string => `${kindName(object)} ${nameOf(object)}`;

const STATES: Readonly<Record<ReferenceState, string>> = {
  held: 'which is there',
  waiting: 'which waits',
  orphaning: 'which goes without its dependents',
  gone: 'which went',
  unseen: 'which is not there',
  elsewhere: 'whose uid is that of another object',
  unlisted: 'whose kind cannot be listed',
  unresolved: 'whose kind is not served, or not for sure',
  scope: 'which has a namespace, and it has none',
  pending: 'of which nothing is known yet',
};
