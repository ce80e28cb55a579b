import type { TimeRange } from '../../audit/read-log.ts';
import type { Found } from '../../audit/verify/collect.ts';
import {
  type Deviation,
  type Gap,
  type GapKind,
  type NotOurs,
  type Place,
  placeText,
} from '../../audit/verify/findings.ts';
import { printable } from '../../shared/printable.ts';
import { timeText } from '../../shared/time-text.ts';

/** What `-o json` shows, and `-o ndjson` line by line with a summary at the end. */
export interface Verification extends Found {
  readonly range: TimeRange;
}

const MOST_LINES = 20;

/** For people: what is wrong, what could not be verified, and what was. */
export function verificationLines({
  counts,
  deviations,
  unverified,
  notOurs,
}: Verification): readonly string[] {
  return [
    ...section('DEVIATIONS', deviations, findingLines),
    ...section('NOT VERIFIED', unverified, findingLines),
    ...section(
      'NOT OURS: gone between two inventories, and nothing says that FleetGC removed it',
      notOurs,
      notOursLines,
    ),
    `${counts.verified} of ${counts.decisions} decisions verified, on ${counts.inventories} inventories and ${counts.diskStats} disk statistics`,
    `${counts.commands} commands, ${counts.orders} orders, ${counts.results} results; ${counts.removals} objects removed`,
    ...countLines(counts),
  ];
}

function section<Item>(
  heading: string,
  { total, first }: { readonly total: number; readonly first: readonly Item[] },
  lines: (item: Item) => readonly string[],
): readonly string[] {
  if (total === 0) return [];
  const told = first.slice(0, MOST_LINES);
  const more = total - told.length;
  return [
    `${heading} (${total})`,
    ...told.flatMap(lines).map((line) => `  ${line}`),
    ...(more > 0 ? [`  … and ${more} more; -o ndjson lists them`] : []),
    '',
  ];
}

const findingLines = ({
  kind,
  message,
  node,
  places: [at, ...others],
}: Deviation | Gap): readonly string[] => [
  `${at === undefined ? '' : `${timeText(at.timestampMs)}  ${placeText(at)}  `}${node === null ? '' : `${printable(node)}  `}${kind}`,
  `    ${printable(message)}${against(others)}`,
];

const against = (places: readonly Place[]): string =>
  places.length === 0 ? '' : ` (${places.map(placeText).join(', ')})`;

const notOursLines = ({ kind, id, node, places: [before, after] }: NotOurs): readonly string[] => [
  `${timeText(after.timestampMs)}  ${printable(node)}  ${kind} ${printable(id)}  last seen ${timeText(before.timestampMs)} (${placeText(before)})`,
];

const COUNTED = [
  ['duplicates', 'records lie on the log more than once, unchanged'],
  ['expired', 'commands expired without an answer: their nodes were away'],
  ['open', 'decisions, commands or answers may still come: the log ends right after what they follow from'],
  ['outOfRange', 'records follow from others that lie before what was read'],
  ['deadLettered', 'messages were given up with a dead letter ("fleetgc dead-letters list")'],
] as const satisfies readonly (readonly [keyof Found['counts'], string])[];

const countLines = (counts: Found['counts']): readonly string[] =>
  COUNTED.filter(([key]) => counts[key] > 0).map(([key, text]) => `${counts[key]} ${text}`);

/** A line for each finding, and one for all that was counted. */
export const verificationNdjson = ({
  range,
  counts,
  deviations,
  unverified,
  notOurs,
}: Verification): string =>
  [
    ...deviations.first.map((deviation) => ({ finding: 'deviation', ...deviation })),
    ...unverified.first.map((gap) => ({ finding: 'unverified', ...gap })),
    ...notOurs.first.map((object) => ({ finding: 'not-ours', ...object })),
    {
      finding: 'summary',
      range,
      counts,
      deviations: deviations.total,
      unverified: unverified.byKind,
      notOurs: notOurs.byKind,
    },
  ]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');

const WHY: Readonly<Record<GapKind, string>> = {
  'input-gone': 'what they were decided on is not on the log any more',
  'unknown-decider': 'this release does not have their decider',
  'unknown-policy-set': 'their policies are not known any more',
  'unknown-version': 'a newer release wrote them',
  'records-missing': 'gaps in the log',
};

/** How many could not be verified, by the reason. */
export const unverifiedText = ({ unverified: { byKind } }: Verification): string =>
  Object.entries(WHY)
    .map(([kind, why]) => ({ why, count: Object.entries(byKind).find(([name]) => name === kind)?.[1] ?? 0 }))
    .filter(({ count }) => count > 0)
    .map(({ count, why }) => `${count}: ${why}`)
    .join('; ');
