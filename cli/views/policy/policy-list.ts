import { selectorText } from '../../../packages/policy/selector-text.ts';
import type { StoredPause, StoredPolicies, StoredPolicy } from '../../../packages/policy/stored-policies.ts';
import { timeText } from '../../../packages/text/time-text.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { tableLines } from '../../framework/output.ts';

/** Policies in the order in which selection asks them: the first that selects a node holds there. */
export const inOrderOfPrecedence = (policies: Iterable<StoredPolicy>): readonly StoredPolicy[] =>
  [...policies].toSorted(
    (a, b) => b.policy.priority - a.policy.priority || (a.policy.name < b.policy.name ? -1 : 1),
  );

/** Pauses first, since they outrank every policy. */
export const listLines = ({ policies, pauses }: StoredPolicies): readonly string[] => [
  ...[...pauses.values()].map(pauseLine),
  ...(pauses.size > 0 && policies.size > 0 ? [''] : []),
  ...(policies.size > 0 ? policyTable(inOrderOfPrecedence(policies.values())) : []),
];

export const pauseLine = ({ selector, reason, appliedAtMs }: StoredPause): string =>
  `paused: ${selectorText(selector)}, since ${timeText(appliedAtMs)}${reason === '' ? '' : ` (${reason})`}`;

const policyTable = (policies: readonly StoredPolicy[]): readonly string[] =>
  tableLines(
    ['NAME', 'VERSION', 'MODE', 'PRIORITY', 'IMAGES', 'APPLIED', 'NODES'],
    policies.map(({ policy, policyVersion, appliedAtMs }) => [
      policy.name,
      String(policyVersion),
      policy.mode,
      String(policy.priority),
      `${policy.imageGCHighThresholdPercent}% to ${policy.imageGCLowThresholdPercent}%`,
      timeText(appliedAtMs),
      selectorText(policy.selector),
    ]),
  );

/** Of policies that are written and not applied: one line each, the one that wins on a node first. */
export const writtenPolicyTable = (policies: readonly Policy[]): readonly string[] =>
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
