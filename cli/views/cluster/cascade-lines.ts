import { counted } from '../../../packages/text/counted.ts';
import { printableLine } from '../../../packages/text/printable.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type {
  CascadeInMode,
  ClusterCascade,
  Fate,
  ReachedObject,
} from '../../../schemas/reports/cluster-cascade.ts';
import { nameOf, objectsText } from './object-text.ts';
import { unreadLines } from './unread-lines.ts';

/** What a deletion would take along, mode by mode: a line for all objects of a kind with one fate and one reason. */
export const cascadeLines = (cascade: ClusterCascade): readonly string[] =>
  [
    `${kindName(cascade.target)} ${nameOf(cascade.target)}, under policy ${cascade.policy.name} (profile ${cascade.policy.profile})`,
    ...cascade.modes.flatMap(modeLines),
    ...unreadLines(cascade),
  ].map(printableLine);

function modeLines({ propagation, objects }: CascadeInMode): readonly string[] {
  const goes = objects.filter(({ fate }) => fate === 'goes').length;
  const groups = Map.groupBy(objects, (each) =>
    JSON.stringify([each.fate, kindName(each), each.rule, each.because]),
  );
  return [
    '',
    `--cascade=${propagation.toLowerCase()}: ${counted(goes, 'object')} of ${objects.length} would go`,
    ...[...groups.values()].flatMap(groupLine),
  ];
}

function groupLine(group: readonly ReachedObject[]): readonly string[] {
  const [first] = group;
  if (first === undefined) return [];
  const rule = first.rule === null ? '' : ` (${first.rule})`;
  return [`  ${FATES[first.fate]} ${objectsText(group.length, group)}: ${first.because}${rule}`];
}

const FATES: Readonly<Record<Fate, string>> = {
  goes: '- goes:',
  waits: '~ waits:',
  held: '! held:',
  'loses-references': '= stays, without this owner:',
  stays: '= stays:',
};
