import type { AnyWrittenPolicy } from '../../../packages/policy/file/read-policy-file.ts';
import { clusterSelectorText, selectorText } from '../../../packages/policy/selector-text.ts';
import type {
  StoredApproval,
  StoredPause,
  StoredPolicies,
  StoredPolicy,
} from '../../../packages/policy/stored-policies.ts';
import { printableLine } from '../../../packages/text/printable.ts';
import { timeText } from '../../../packages/text/time-text.ts';
import type { SubjectKind } from '../../../schemas/events/identity.ts';
import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
import {
  isPolicyFor,
  keyOfPolicyNamed,
  type Policy,
  type PolicyRecordOf,
  policyKey,
} from '../../../schemas/policy/policy.ts';
import { tableLines } from '../../framework/output.ts';
import { approvalLine } from '../cluster/approval-line.ts';

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

export const pauseLine = ({ selector, reason, by = '', appliedAtMs }: StoredPause): string =>
  `paused: ${selectorText(selector)}, since ${timeText(appliedAtMs)}${by === '' ? '' : ` by ${by}`}${reason === '' ? '' : ` (${reason})`}`;

const WIDE_COLUMNS = ['PROFILE', 'HASH'];

const wideCells = ({ policy, hash }: StoredPolicy): readonly string[] => [policy.profile, hash];

const policyTable = (policies: readonly StoredFor<'node'>[], isWide: boolean): readonly string[] =>
  tableLines(
    [
      ...['NAME', 'VERSION', 'MODE', 'PRIORITY', 'IMAGES', 'APPLIED', 'NODES'],
      ...(isWide ? WIDE_COLUMNS : []),
    ],
    policies.map((record) => {
      const { policy, policyVersion, appliedAtMs } = record;
      return [
        policy.name,
        String(policyVersion),
        policy.mode,
        String(policy.priority),
        `${policy.imageGCHighThresholdPercent}% to ${policy.imageGCLowThresholdPercent}%`,
        timeText(appliedAtMs),
        selectorText(policy.selector),
        ...(isWide ? wideCells(record) : []),
      ];
    }),
  );

const clusterPolicyTable = (policies: readonly StoredFor<'cluster'>[], isWide: boolean): readonly string[] =>
  tableLines(
    [
      ...['NAME', 'VERSION', 'MODE', 'PRIORITY', 'COLLECTORS', 'APPLIED', 'CLUSTERS'],
      ...(isWide ? WIDE_COLUMNS : []),
    ],
    policies.map((record) => [
      policyKey(record),
      String(record.policyVersion),
      record.policy.mode,
      String(record.policy.priority),
      record.policy.collectors.join(', ') || 'none',
      timeText(record.appliedAtMs),
      clusterSelectorText(record.policy.selector),
      ...(isWide ? wideCells(record) : []),
    ]),
  );

/** Of policies that are written and not applied: one line each, the one that wins first. */
export const writtenPolicyLines = (written: readonly AnyWrittenPolicy[]): readonly string[] =>
  [
    writtenTable(written.flatMap((each) => (each.subject === 'node' ? [each.policy] : []))),
    writtenClusterTable(written.flatMap((each) => (each.subject === 'cluster' ? [each.policy] : []))),
  ]
    .filter((lines) => lines.length > 1)
    .flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));

const writtenClusterTable = (policies: readonly ClusterPolicy[]): readonly string[] =>
  tableLines(
    ['NAME', 'MODE', 'PRIORITY', 'COLLECTORS', 'CLUSTERS'],
    policies.map(({ name, mode, priority, collectors, selector }) => [
      keyOfPolicyNamed('cluster', name),
      mode,
      String(priority),
      collectors.join(', ') || 'none',
      clusterSelectorText(selector),
    ]),
  );

const writtenTable = (policies: readonly Policy[]): readonly string[] =>
  tableLines(
    ['NAME', 'MODE', 'PRIORITY', 'IMAGES', 'NODES'],
    policies.map((policy) => [
      policy.name,
      policy.mode,
      String(policy.priority),
      `${policy.imageGCHighThresholdPercent}% to ${policy.imageGCLowThresholdPercent}%`,
      selectorText(policy.selector),
    ]),
  );
