import {
  type EffectivePolicy,
  type NotHolding,
  type Origin,
  unmetText,
} from '../../../packages/policy/effective.ts';
import { selectorText } from '../../../packages/policy/selector-text.ts';

import type { Policy } from '../../../schemas/policy/policy.ts';
import { tableLines } from '../../framework/output.ts';

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
