import type { SubjectKind } from '../../schemas/events/identity.ts';
import type { ClusterPolicy } from '../../schemas/policy/cluster-policy.ts';
import {
  isPolicyFor,
  keyOfPolicyNamed,
  type NodeSelector,
  type Policy,
  type PolicyRecordOf,
  policyKey,
} from '../../schemas/policy/policy.ts';
import { type EffectivePolicy, type NotHolding, type Origin, unmetText } from '../policy/effective.ts';
import type { AnyWrittenPolicy } from '../policy/file/read-policy-file.ts';
import type { PolicyChange, SettingChange } from '../policy/policy-changes.ts';
import { clusterSelectorText, selectorText } from '../policy/selector-text.ts';
import type { StoredApproval, StoredPause, StoredPolicies, StoredPolicy } from '../policy/stored-policies.ts';
import { printableLine } from '../text/printable.ts';
import { timeText } from '../text/time-text.ts';
import type { Column } from './document.ts';
import { approvalLine } from './held.ts';
import { tableLines, tableOf } from './text.ts';

/** Policies in the order in which selection asks them: the first that selects a node holds there. */
export const inOrderOfPrecedence = (policies: Iterable<StoredPolicy>): readonly StoredPolicy[] =>
  [...policies].toSorted(
    (a, b) => b.policy.priority - a.policy.priority || (a.policy.name < b.policy.name ? -1 : 1),
  );

/** Pauses first, since they outrank every policy. What was approved goes whatever they hold. */
export const listLines = (
  { policies, pauses }: StoredPolicies,
  approvals: readonly StoredApproval[],
  isWide: boolean,
): readonly string[] =>
  [
    [...pauses.values()].map(pauseLine),
    withRows(policyTable(ofKind('node', policies), isWide)),
    withRows(clusterPolicyTable(ofKind('cluster', policies), isWide)),
    approvals.map(approvalLine).map(printableLine),
  ]
    .filter(({ length }) => length > 0)
    .flatMap((lines, index) => (index > 0 ? ['', ...lines] : lines));

/** No table where there is no row. */
const withRows = (table: readonly string[]): readonly string[] => (table.length > 1 ? table : []);

type StoredFor<Kind extends SubjectKind> = StoredPolicy & PolicyRecordOf<Kind>;

const ofKind = <Kind extends SubjectKind>(
  kind: Kind,
  policies: StoredPolicies['policies'],
): readonly StoredFor<Kind>[] =>
  inOrderOfPrecedence(policies.values()).filter((record): record is StoredFor<Kind> =>
    isPolicyFor(kind, record),
  );

const pauseLine = ({ selector, reason, by = '', appliedAtMs }: StoredPause): string =>
  `paused: ${selectorText(selector)}, since ${timeText(appliedAtMs)}${by === '' ? '' : ` by ${by}`}${reason === '' ? '' : ` (${reason})`}`;

const WIDE_COLUMNS: readonly Column<StoredPolicy, string, string>[] = [
  ['Profile', 'text', ({ policy }) => policy.profile],
  ['Hash', 'text', ({ hash }) => hash],
];

const policyTable = (policies: readonly StoredFor<'node'>[], isWide: boolean): readonly string[] =>
  tableOf(policies, [
    ['Name', 'name', ({ policy }) => policy.name],
    ['Version', 'count', ({ policyVersion }) => policyVersion],
    ['Mode', 'text', ({ policy }) => policy.mode],
    ['Priority', 'count', ({ policy }) => policy.priority],
    ['Images', 'text', ({ policy }) => thresholdsText(policy)],
    ['Applied', 'time', ({ appliedAtMs }) => appliedAtMs],
    ['Nodes', 'text', ({ policy }) => selectorText(policy.selector)],
    ...(isWide ? WIDE_COLUMNS : []),
  ]);

const clusterPolicyTable = (policies: readonly StoredFor<'cluster'>[], isWide: boolean): readonly string[] =>
  tableOf(policies, [
    ['Name', 'name', policyKey],
    ['Version', 'count', ({ policyVersion }) => policyVersion],
    ['Mode', 'text', ({ policy }) => policy.mode],
    ['Priority', 'count', ({ policy }) => policy.priority],
    ['Collectors', 'text', ({ policy }) => policy.collectors.join(', ') || 'none'],
    ['Applied', 'time', ({ appliedAtMs }) => appliedAtMs],
    ['Clusters', 'text', ({ policy }) => clusterSelectorText(policy.selector)],
    ...(isWide ? WIDE_COLUMNS : []),
  ]);

const thresholdsText = (policy: Policy): string =>
  `${policy.imageGCHighThresholdPercent}% to ${policy.imageGCLowThresholdPercent}%`;

/** Of policies that are written and not applied: one line each, the one that wins first. */
export const writtenPolicyLines = (written: readonly AnyWrittenPolicy[]): readonly string[] =>
  [
    writtenTable(written.flatMap((each) => (each.subject === 'node' ? [each.policy] : []))),
    writtenClusterTable(written.flatMap((each) => (each.subject === 'cluster' ? [each.policy] : []))),
  ]
    .filter((lines) => lines.length > 1)
    .flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));

const writtenClusterTable = (policies: readonly ClusterPolicy[]): readonly string[] =>
  tableOf(policies, [
    ['Name', 'name', ({ name }) => keyOfPolicyNamed('cluster', name)],
    ['Mode', 'text', ({ mode }) => mode],
    ['Priority', 'count', ({ priority }) => priority],
    ['Collectors', 'text', ({ collectors }) => collectors.join(', ') || 'none'],
    ['Clusters', 'text', ({ selector }) => clusterSelectorText(selector)],
  ]);

const writtenTable = (policies: readonly Policy[]): readonly string[] =>
  tableOf(policies, [
    ['Name', 'name', ({ name }) => name],
    ['Mode', 'text', ({ mode }) => mode],
    ['Priority', 'count', ({ priority }) => priority],
    ['Images', 'text', thresholdsText],
    ['Nodes', 'text', ({ selector }) => selectorText(selector)],
  ]);

/** What holds for a node, for people: first the answer, then where every value comes from, then why others do not. */
export const effectiveLines = (effective: EffectivePolicy): readonly string[] =>
  [headLines(effective), settingLines(effective), otherLines(effective)]
    .filter((lines) => lines.length > 0)
    .flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));

function headLines({ node, pausedBy, record, version }: EffectivePolicy): readonly string[] {
  const name = node.cluster === '' ? node.node : `${node.cluster}/${node.node}`;
  const pauses = pausedBy.map(
    ({ selector, reason }) =>
      `${name} is paused with ${selectorText(selector)}${reason === '' ? '' : ` (${reason})`}: nothing is removed.`,
  );
  if (record === null) return [...pauses, `No policy selects ${name}: everything is kept.`];
  const holds = pauses.length > 0 ? 'would hold' : 'holds';
  return [
    ...pauses,
    `${policyText(record.policy)} ${holds} for ${name}; ${version === null ? '' : `version ${version}, `}hash ${record.hash}.`,
    `It is for ${selectorText(record.policy.selector)}.`,
  ];
}

const policyText = ({ name, mode, profile, priority }: Policy): string =>
  `Policy ${name} (${mode}, profile ${profile}, priority ${priority})`;

function settingLines({ settings, record }: EffectivePolicy): readonly string[] {
  if (record === null) return [];
  return tableLines(
    ['SETTING', 'VALUE', 'ORIGIN'],
    settings.map(({ setting, value, origin }) => [
      setting,
      valueText(value),
      originText(origin, record.policy.profile),
    ]),
  );
}

function valueText(value: unknown): string {
  if (value === null) return 'off';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function originText(origin: Origin, profile: Policy['profile']): string {
  switch (origin.kind) {
    case 'written':
      return `written, line ${origin.line}`;
    case 'kubelet-configuration':
      return `default of KubeletConfiguration${mergeText(origin.mergedByLine)}`;
    case 'kubelet-flag':
      return 'default of the kubelet’s flag';
    case 'profile':
      return `default of profile ${profile}`;
    case 'when-applied':
      return 'default of the release that applied it';
    case 'unknown':
      return 'unknown: the text that was applied cannot be read';
  }
}

const mergeText = (line: number | undefined): string =>
  line === undefined ? '' : `, merged in by mergeDefaultEvictionSettings, line ${line}`;

function otherLines({ otherPolicies, otherPauses }: EffectivePolicy): readonly string[] {
  const rows = [
    ...otherPauses.map(({ pause, unmet }) => [
      `pause of ${selectorText(pause.selector)}`,
      '',
      `does not select: ${unmetText(unmet)}`,
    ]),
    ...otherPolicies.map(({ record: { policy }, reason }) => [
      policy.name,
      String(policy.priority),
      reasonText(reason),
    ]),
  ];
  return rows.length === 0 ? [] : tableLines(['OTHER', 'PRIORITY', 'WHY IT DOES NOT HOLD'], rows);
}

function reasonText(reason: NotHolding): string {
  switch (reason.kind) {
    case 'does-not-select':
      return `does not select: ${unmetText(reason.unmet)}`;
    case 'lower-priority':
      return `lower priority than ${reason.than}`;
    case 'later-by-name':
      return `same priority as ${reason.than}, which comes first by name`;
  }
}

/** What applying did to each policy, or in a dry run would do; a changed one with every setting that differs. */
export const changeLines = (changes: readonly PolicyChange[], dryRun: boolean): readonly string[] =>
  changes.flatMap((change) => linesOf(change, dryRun ? 'would be ' : ''));

function linesOf(change: PolicyChange, would: string): readonly string[] {
  const { policy, policyVersion } = change.record;
  const key = policyKey(change.record);
  switch (change.kind) {
    case 'created':
      return [
        `${key}: ${would}created as version ${policyVersion}, ${policy.mode} on ${whomText(change.record)}`,
      ];
    case 'unchanged':
      return [`${key}: unchanged, version ${policyVersion}`];
    case 'written-again':
      return [
        `${key}: unchanged, version ${policyVersion}; ${would}written again, since what stands there does not count`,
      ];
    case 'changed':
      return [`${key}: ${would}changed, version ${policyVersion}`, ...change.settings.map(settingLine)];
  }
}

const whomText = (record: PolicyRecordOf<SubjectKind>): string =>
  isPolicyFor('cluster', record)
    ? clusterSelectorText(record.policy.selector)
    : selectorText(record.policy.selector);

/** For machines: the same, without the records. */
export const changeValues = (changes: readonly PolicyChange[]) =>
  changes.map((change) => ({
    name: policyKey(change.record),
    change: change.kind,
    version: change.record.policyVersion,
    hash: change.record.hash,
    settings: change.kind === 'changed' ? change.settings : [],
  }));

const settingLine = ({ setting, from, to }: SettingChange): string =>
  `  ${setting}: ${changedValueText(setting, from)} to ${changedValueText(setting, to)}`;

/** What a selector without this condition selects by it. */
const WITHOUT_CONDITION: Readonly<Record<string, string>> = {
  'selector.clusters': 'every cluster',
  'selector.nodeNames': 'every node',
  'selector.pools': 'every pool',
  'selector.nodeLabels': 'any labels',
} satisfies Record<`selector.${keyof NodeSelector}`, string>;

function changedValueText(setting: string, value: unknown): string {
  const meaning = isEmpty(value) ? WITHOUT_CONDITION[setting] : undefined;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return meaning === undefined ? text : `${text} (${meaning})`;
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;
