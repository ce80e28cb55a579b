import type { Census, CensusFindings, CensusKind, CensusObject } from '../../schemas/events/census.ts';
import { type ClusterObject, kindName } from '../../schemas/events/cluster-objects.ts';
import type { ClusterObjectResults } from '../../schemas/events/cluster-result.ts';
import type { ReferenceState } from '../../schemas/events/ownership.ts';
import type {
  CascadeInMode,
  ClusterCascade,
  Fate,
  ReachedObject,
} from '../../schemas/reports/cluster-cascade.ts';
import type {
  ClusterLeftovers,
  LeftoverReport,
  LeftoverSection,
} from '../../schemas/reports/cluster-leftovers.ts';
import type { ClusterPlan, CollectorPlan, PlannedAction } from '../../schemas/reports/cluster-plan.ts';
import { splitUnread } from '../decision/left-out-kinds.ts';
import type { ToldCensus } from '../read-model/censuses.ts';
import { counted } from '../text/counted.ts';
import { printableLine } from '../text/printable.ts';
import { timeText } from '../text/time-text.ts';
import { PROOF } from './held.ts';
import { tableLines } from './text.ts';

/** A plan for people: what would be done in which order, what is held, and what stays. */
export const clusterPlanLines = (plan: ClusterPlan): readonly string[] => {
  const { policy, totals } = plan;
  return [
    `Policy ${policy.name}: ${policy.mode}, profile ${policy.profile}`,
    `${counted(totals.objects, 'object')} of ${counted(totals.kinds, 'kind')} were looked at.`,
    ...plan.collectors.flatMap((each) => [
      '',
      `${each.collector}: ${OUTCOMES[each.outcome]}`,
      ...objectLines(each),
    ]),
    ...plan.rules.flatMap((each) => [
      '',
      `rule ${each.rule}: ${RULE_OUTCOMES[each.outcome] ?? OUTCOMES[each.outcome]}`,
      ...objectLines(each),
    ]),
    ...unreadLines(plan),
    ...leftOutLines(plan),
  ].map(printableLine);
};

/** A reader with more rights than the account that works sees more than would be done. */
const leftOutLines = ({ leftOutKinds }: ClusterPlan): readonly string[] =>
  leftOutKinds.length === 0
    ? []
    : [
        '',
        `The role that "fleetgc cluster rbac" prints has no right on these kinds, so their objects are kept unless --with names them: ${leftOutKinds.join(', ')}`,
      ];

function objectLines({ objects }: Pick<CollectorPlan, 'objects'>): readonly string[] {
  if (objects.length === 0) return ['Nothing calls for anything.'];
  const rows = objects.map((planned) => [
    ACTIONS[planned.action],
    kindName(planned),
    nameOf(planned),
    isDone(planned) ? String(planned.wave) : '',
    `${planned.because} (${planned.rule}${factsText(planned)})`,
  ]);
  return tableLines(['WOULD', 'KIND', 'NAME', 'WAVE', 'WHY'], rows);
}

const OUTCOMES: Readonly<Record<CollectorPlan['outcome'], string>> = {
  commanded: 'the policy gives it to FleetGC, which would do this',
  'dry-run': 'the policy says dry-run, so nothing of this would be done',
  'not-ours': 'the policy does not give it to FleetGC, which would do nothing of this',
  'nothing-to-do': 'nothing is to be done',
  'no-policy': 'no policy holds, so everything stays',
  paused: 'a pause holds, so everything stays',
  'too-costly': 'the decision would take too many steps, so FleetGC would do nothing of this',
};

const RULE_OUTCOMES: Readonly<Partial<Record<CollectorPlan['outcome'], string>>> = {
  commanded: 'this would be done, no more of it in an hour than the rule allows',
};

const ACTIONS: Readonly<Record<PlannedAction['action'], string>> = {
  delete: 'delete',
  expire: 'delete',
  'drop-references': 'take references',
  finish: 'let go',
  'remove-pod': 'remove',
  hold: 'hold',
  keep: 'keep',
};

const isDone = ({ action }: PlannedAction): boolean => action !== 'hold' && action !== 'keep';

const factsText = ({ facts }: PlannedAction): string =>
  ['ownerKind', 'ownerName', 'objects', 'ofKind', 'limit', 'finalizer', 'nodeName']
    .flatMap((name) => (facts[name] === undefined ? [] : [`, ${name} ${facts[name]}`]))
    .join('');

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

/** What seems to be left over, for people. */
export const leftoverLines = ({ takenAt, reports }: ClusterLeftovers): readonly string[] =>
  [
    `At ${timeText(takenAt.serverMs)} by the API server. FleetGC deletes nothing of this.`,
    ...reports.flatMap(sectionLines),
  ].map(printableLine);

/** Each once, as `audit explain` takes it. */
export const leftoverNames = ({ reports }: ClusterLeftovers): readonly string[] => [
  ...new Set(reports.flatMap(({ objects }) => objects.map(askedName))),
];

function sectionLines({ report, unread, objects }: LeftoverSection): readonly string[] {
  if (unread.length > 0)
    return [
      '',
      `${TITLES[report]}: not known`,
      ...unread.map((kind) => `  ${kindName(kind)} cannot be read: ${kind.reason}`),
    ];
  if (objects.length === 0) return ['', `${TITLES[report]}: none`];
  const rows = objects.map((each) => [kindName(each), nameOf(each), each.since ?? 'unknown', each.because]);
  return ['', `${TITLES[report]}: ${objects.length}`, ...tableLines(['KIND', 'NAME', 'SINCE', 'WHY'], rows)];
}

const TITLES: Readonly<Record<LeftoverReport, string>> = {
  'released-volumes': 'Volumes that nobody claims any more',
  'cron-job-histories': 'Jobs beyond the history limits of their CronJob',
  'silent-nodes': 'Nodes that have been silent for an hour or longer',
  'expired-leases': 'Leases that expired an hour ago or earlier',
  unnamed: 'ConfigMaps and Secrets that nothing seems to name, older than a day',
};

/** Of what nothing is said, and why. */
const unreadLines = ({
  unreadKinds,
  failedGroups,
}: Pick<ClusterPlan, 'unreadKinds' | 'failedGroups'>): readonly string[] => {
  const { expected, byChoice } = splitUnread(unreadKinds);
  const lines = [
    ...expected.map((unread) => `${kindName(unread)} cannot be read: ${unread.reason}`),
    ...failedGroups.map((group) => `the group ${group} is not served at the moment`),
  ];
  return [
    ...(lines.length === 0
      ? []
      : ['', 'Of these nothing is said, and what names them as owners stays:', ...lines]),
    ...(byChoice.length === 0
      ? []
      : [
          '',
          `Not read, as "fleetgc cluster rbac" leaves them out of its role, so what names them as owners stays: ${byChoice.map(kindName).join(', ')}`,
        ]),
  ];
};

export type Named = Pick<ClusterObject, 'group' | 'kind' | 'namespace' | 'name'>;

const MOST_NAMES = 3;

/** `3 ConfigMap (ns/a, ns/b, ns/c)`, `12 objects (ConfigMap ns/a, Secret ns/b, Secret ns/c and 9 more)` */
export function objectsText(count: number, objects: readonly Named[]): string {
  const kinds = new Set(objects.map(kindName));
  const [kind] = kinds;
  const isOneKind = kind !== undefined && kinds.size === 1;
  const names = objects
    .slice(0, MOST_NAMES)
    .map((object) => (isOneKind ? nameOf(object) : `${kindName(object)} ${nameOf(object)}`));
  if (names.length === 0) return counted(count, 'object');
  const more = count > names.length ? ` and ${count - names.length} more` : '';
  return isOneKind && count === 1
    ? `${kind} ${names.join('')}`
    : `${isOneKind ? `${count} ${kind}` : counted(count, 'object')} (${names.join(', ')}${more})`;
}

/** As `audit explain` and `undo` take it. */
const askedName = (object: Named): string => `${kindName(object)}/${nameOf(object)}`;

export const nameOf = ({ namespace, name }: Pick<Named, 'namespace' | 'name'>): string =>
  namespace === '' ? name : `${namespace}/${name}`;

type Action = ClusterObjectResults['objects'][number]['action'];

/** What became of an object that was changed and stays. */
export const PATCHED: Readonly<Record<Action, string>> = {
  delete: 'blocks its owners no more',
  expire: 'changed',
  'drop-references': 'references to owners taken away',
  finish: 'finalizer taken away',
  'remove-pod': 'marked as failed',
};
