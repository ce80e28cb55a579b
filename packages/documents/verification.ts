import { type Place, placeText } from '../audit/events/log-position.ts';
import {
  type Deviation,
  type Found,
  type FoundList,
  type Gap,
  type GapKind,
  MOST_TOLD,
  type NotOurs,
  type Unanswered,
} from '../audit/verify/findings.ts';
import type { ArchiveHeadsSummary, HeadsSummary } from '../audit/verify/heads.ts';
import type { BeforeSignatures, SignedBy, UnprovedFacts } from '../audit/verify/signatures.ts';
import type { TimeRange } from '../records/read-log.ts';
import { counted } from '../text/counted.ts';
import { jsonLines } from '../text/json-text.ts';
import { shortIds } from '../text/short-hash.ts';
import { timeText } from '../text/time-text.ts';

/** What `-o json` shows, and `-o ndjson` line by line with a summary at the end. */
export interface Verification extends Found {
  readonly range: TimeRange;
  /** `null` where nobody asked. */
  readonly signedBy: readonly SignedBy[] | null;
  /** `null` where nobody asked for them to be counted. */
  readonly unprovedFacts: readonly UnprovedFacts[] | null;
  /** The same as `signedBy`. */
  readonly beforeSignatures: BeforeSignatures | null;
  /** The same. */
  readonly heads: HeadsSummary | null;
}

const MOST_LINES = 20;

/** For people: the answer, what is wrong, what could not be verified, and what was. */
export function verificationLines(verification: Verification): readonly string[] {
  const { counts, deviations, unverified, notOurs, unanswered } = verification;
  return [
    ...answerTo(verification),
    ...section('DEVIATIONS', deviations, findingLines),
    ...section('NOT VERIFIED', unverified, findingLines),
    ...notOursSection(notOurs),
    ...unansweredSection(unanswered),
    ...readLines(verification),
    ...(counts.records === 0 ? [] : countLines(counts)),
    ...signerLines(verification.signedBy ?? []),
    ...unprovedLines(verification.unprovedFacts ?? []),
    ...beforeLines(verification.beforeSignatures),
    ...headLines(verification),
  ];
}

const readLines = ({ firstRecordMs, lastRecordMs }: Found): readonly string[] =>
  firstRecordMs === null || lastRecordMs === null
    ? []
    : [`Read from ${timeText(firstRecordMs)} to ${timeText(lastRecordMs)}:`];

/** Where something is wrong or missing, the verb ends with a sentence about it. */
const answerTo = ({ counts, deviations, unverified }: Found): readonly string[] =>
  counts.decisions === 0 || deviations.total + unverified.total > 0
    ? []
    : [
        'Every decision came out the same again, and FleetGC removed only what they say.',
        ...uncheckedLines(counts),
        '',
      ];

const uncheckedLines = ({ outOfRange }: Found['counts']): readonly string[] =>
  outOfRange === 0 ? [] : [`Except for ${uncheckedText(outOfRange)}.`];

/** What is neither right nor wrong, since the other side of it is not there. */
export const uncheckedText = (outOfRange: number): string =>
  `${counted(outOfRange, 'command, order, fact or result', 'commands, orders, facts or results')} that could not be checked: what belongs to ${outOfRange === 1 ? 'it' : 'them'} was deleted from the event log, or lies before what was read`;

function section<Item>(
  heading: string,
  { total, first }: { readonly total: number; readonly first: readonly Item[] },
  lines: (item: Item) => readonly string[],
): readonly string[] {
  if (total === 0) return [];
  const shown = first.slice(0, MOST_LINES);
  const more = total - shown.length;
  const listed = first.length === total ? 'them' : `the first ${MOST_TOLD} of each kind`;
  return [
    `${heading} (${total})`,
    ...shown.flatMap(lines).map((line) => `  ${line}`),
    ...(more > 0 ? [`  … and ${more} more; -o ndjson lists ${listed}`] : []),
    '',
  ];
}

const findingLines = ({
  kind,
  message,
  node,
  places: [at, ...others],
}: Deviation | Gap): readonly string[] => [
  `${at === undefined ? '' : `${timeText(at.timestampMs)}  ${placeText(at)}  `}${node === null ? '' : `${node}  `}${kind}`,
  `    ${message}${against(others)}`,
];

const against = (places: readonly Place[]): string =>
  places.length === 0 ? '' : ` (${places.map(placeText).join(', ')})`;

const notOursSection = (notOurs: Found['notOurs']): readonly string[] =>
  notOurs.total === 0
    ? []
    : [
        `Gone by other hands, which is no fault: ${counted(notOurs.total, 'object')} went between two inventories, and FleetGC was not at ${notOurs.total === 1 ? 'it' : 'them'}. The kubelet collects too, and so may others.`,
        ...notOursLines(notOurs).map((line) => `  ${line}`),
        '',
      ];

const unansweredSection = (unanswered: Found['unanswered']): readonly string[] =>
  unanswered.total === 0
    ? []
    : [
        `UNANSWERED: commands that expired, and nothing says what became of them (${unanswered.total})`,
        ...unansweredLines(unanswered).map((line) => `  ${line}`),
        '',
      ];

const signerLines = (signedBy: readonly SignedBy[]): readonly string[] =>
  signedBy.length === 0
    ? []
    : [
        '',
        'Signed:',
        ...signedBy.map(
          ({ topic, keyId, name, role, records }) =>
            `  ${counted(records, 'record')} of ${topic} by ${keyId} (${name}), role ${role}`,
        ),
      ];

const CAUSES: Readonly<Record<UnprovedFacts['cause'], string>> = {
  unsigned: 'no signature',
  'bad-signature': 'a wrong signature',
  'untrusted-key': 'a key that does not count there',
};

const unprovedLines = (unproved: readonly UnprovedFacts[]): readonly string[] =>
  unproved.length === 0
    ? []
    : [
        '',
        'Facts that would not count if their signatures were required:',
        ...unproved.map(
          ({ topic, cause, records }) => `  ${counted(records, 'record')} of ${topic}: ${CAUSES[cause]}`,
        ),
      ];

function beforeLines(before: BeforeSignatures | null): readonly string[] {
  if (before === null || before.firstStatementMs === null || before.byTopic.length === 0) return [];
  const records = before.byTopic.reduce((sum, topic) => sum + topic.records, 0);
  return [
    '',
    `Before signatures: ${counted(records, 'record')} without a signature ${records === 1 ? 'is' : 'are'} older than the first statement about a key (${timeText(before.firstStatementMs)}). ${records === 1 ? 'It is no deviation' : 'They are no deviations'}, and nothing proves who wrote ${records === 1 ? 'it' : 'them'}:`,
    ...before.byTopic.map((topic) => `  ${counted(topic.records, 'record')} of ${topic.topic}`),
  ];
}

const COUNTED = [
  ['decisions', 'decisions'],
  ['verified', 'of them came out the same again'],
  ['inventories', 'inventories'],
  ['diskStats', 'disk statistics'],
  ['commands', 'commands'],
  ['orders', 'orders to observe'],
  ['results', 'results'],
  ['removals', 'of them: an object was removed'],
] as const satisfies readonly (readonly [keyof Found['counts'], string])[];

/** Told where there are any. */
const ASIDE = [
  ['duplicates', 'on the event log more than once, unchanged'],
  ['expired', 'commands that expired without a result of their own'],
  ['open', 'effects that may still come: the event log ends right after their cause'],
  ['ofEarlier', 'results that agree with a command from before --from'],
  [
    'outOfRange',
    'effects that could not be checked: what belongs to them was deleted, or lies before what was read',
  ],
  ['deadLettered', 'messages given up with a dead letter ("fleetgc dead-letters list")'],
] as const satisfies readonly (readonly [keyof Found['counts'], string])[];

function countLines(counts: Found['counts']): readonly string[] {
  const shown = [...COUNTED, ...ASIDE.filter(([key]) => counts[key] > 0)];
  const width = Math.max(...shown.map(([key]) => String(counts[key]).length));
  return shown.map(([key, text]) => `${String(counts[key]).padStart(width)}  ${text}`);
}

/** A line for each finding, and one for all that was counted. */
export const verificationNdjson = ({
  range,
  firstRecordMs,
  lastRecordMs,
  counts,
  deviations,
  unverified,
  notOurs,
  unanswered,
  signedBy,
  unprovedFacts,
  beforeSignatures,
  heads,
}: Verification): string =>
  jsonLines([
    ...deviations.first.map((deviation) => ({ finding: 'deviation', ...deviation })),
    ...unverified.first.map((gap) => ({ finding: 'unverified', ...gap })),
    ...notOurs.first.map((object) => ({ finding: 'not-ours', ...object })),
    ...unanswered.first.map((command) => ({ finding: 'unanswered', ...command })),
    {
      finding: 'summary',
      range,
      firstRecordMs,
      lastRecordMs,
      counts,
      deviations: deviations.byKind,
      unverified: unverified.byKind,
      notOurs: notOurs.byKind,
      unanswered: unanswered.byKind,
      signedBy,
      unprovedFacts,
      beforeSignatures,
      heads,
    },
  ]);

const WHY: Readonly<Record<GapKind, string>> = {
  'input-gone': 'what they were decided on is not on the event log any more',
  'disk-stats-gone':
    'the disk statistics they were decided on are kept for a day (verify --from 23h, or an archive)',
  'topic-recreated':
    'a topic with what belongs to them was deleted and made anew since; if nobody of you did, find out who may delete topics',
  'decisions-gone':
    'decisions that signed heads name are gone from the beginning of gc.node.decisions, sooner than this release declares',
  'unknown-decider': 'this release does not have their decider',
  'unknown-policy-set': 'their policies are not known any more',
  'unknown-version': 'a newer release wrote them',
  'records-missing': 'gaps in the event log',
  'answer-missing': 'commands whose own result is overdue',
  'intent-open':
    'commands with announced objects that have no result: in a cluster the next executor settles them, so start one; on a node look whether they are gone',
  'head-out-of-time': 'heads that are older than what they name, by the time of the event log',
  'without-head': 'some minutes of decisions that no head names',
  'archive-unknown': 'the event log has no head of this archive',
};

/** How many could not be verified, by the reason. */
export const unverifiedText = ({ unverified: { byKind } }: Verification): string =>
  Object.entries(WHY)
    .map(([kind, why]) => ({ why, count: byKind[kind] ?? 0 }))
    .filter(({ count }) => count > 0)
    .map(({ count, why }) => `${count}: ${why}`)
    .join('; ');

const MOST_NODE_LINES = 20;

/** Node by node and kind by kind: on nodes where others collect too they are many, and nothing is wrong with them. */
export function notOursLines({ total, first }: FoundList<NotOurs>): readonly string[] {
  const groups = [...Map.groupBy(first, ({ node, kind }) => `${node} ${kind}`).values()].toSorted(
    (a, b) => b.length - a.length,
  );
  const shown = groups.slice(0, MOST_NODE_LINES);
  const more = total - shown.reduce((sum, group) => sum + group.length, 0);
  return [
    ...shown.map(groupLine),
    ...(more > 0 ? [`… and ${more} more`] : []),
    ...(total > shown.length ? ['-o json names them, up to 1,000 of each kind'] : []),
  ];
}

function groupLine(group: readonly NotOurs[]): string {
  const [only] = group;
  if (only === undefined) return '';
  const { kind, id, node, places } = only;
  const [before, after] = places;
  const where = `${node}  ${kind}`;
  if (group.length === 1)
    return `${where} ${shortIds(id)}  gone by ${timeText(after.timestampMs)}, last seen ${timeText(before.timestampMs)} (${placeText(before)})`;
  const times = group.map(({ places: [, gone] }) => gone.timestampMs);
  const firstMs = times.reduce((a, b) => Math.min(a, b), after.timestampMs);
  const lastMs = times.reduce((a, b) => Math.max(a, b), after.timestampMs);
  return `${where}: ${group.length}, gone by ${timeText(firstMs)}${lastMs > firstMs ? ` to ${timeText(lastMs)}` : ''}`;
}

/** Node by node, those first that live on: there somebody has to look at the executor. */
function unansweredLines({ total, first }: FoundList<Unanswered>): readonly string[] {
  const groups = [...Map.groupBy(first, ({ node }) => node).values()].toSorted(
    (a, b) => livingOn(b) - livingOn(a) || b.length - a.length,
  );
  const shown = groups.slice(0, MOST_NODE_LINES);
  const more = total - shown.reduce((sum, group) => sum + group.length, 0);
  return [...shown.map(nodeLine), ...(more > 0 ? [`… and ${more} more; -o json names them`] : [])];
}

const livingOn = (group: readonly Unanswered[]): number => Number(group.some(isLivingOn));
const isLivingOn = ({ kind }: Unanswered): boolean => kind === 'node-lives-on';

function nodeLine(group: readonly Unanswered[]): string {
  const last = group.at(-1);
  if (last === undefined) return '';
  const { node, place, heardMs } = last;
  const heard =
    heardMs === null
      ? 'no inventory of the node was read'
      : `the node was heard last at ${timeText(heardMs)}`;
  const advice = group.some(isLivingOn) ? ': it lives on, so look at its executor' : '';
  return `${node}: ${group.length}, last ${timeText(place.timestampMs)} (${placeText(place)}); ${heard}${advice}`;
}

/** What heads prove; nothing where nobody asked. */
const headLines = ({
  heads,
  counts,
}: Pick<Found, 'counts'> & { readonly heads: HeadsSummary | null }): readonly string[] => {
  if (heads === null) return [];
  const { archive, decisionHeads } = heads;
  return [
    '',
    'Heads:',
    ...(archive === null ? [] : [`  ${archiveHeadText(archive)}`]),
    decisionHeads === 0
      ? '  the decisions are without heads: no decision service signed any'
      : `  ${counted(counts.headed, 'record')} of gc.node.decisions as signed, ${counts.withoutHead} that no head names${inPartText(counts)}`,
  ];
};

const inPartText = ({ headedInPart }: Found['counts']): string =>
  headedInPart === 0
    ? ''
    : `, ${headedInPart} that a head names together with others that are not there, so that nobody can compare them`;

const archiveHeadText = ({ lines, provedLines, isComparedWithLog }: ArchiveHeadsSummary): string => {
  if (provedLines === 0) return 'the archive has no head that counts: nothing in it is proved';
  const where = `up to line ${provedLines} of ${lines}`;
  return isComparedWithLog
    ? `the archive is as its archiver signed it, and as the heads on the event log say, ${where}`
    : `the archive is as the heads in it say, ${where}; whether it is the one that was signed shows --heads-of`;
};
