import type { PolicyChange, SettingChange } from '../../../packages/policy/policy-changes.ts';
import { clusterSelectorText, selectorText } from '../../../packages/policy/selector-text.ts';
import type { SubjectKind } from '../../../schemas/events/identity.ts';
import {
  isPolicyFor,
  type NodeSelector,
  type PolicyRecordOf,
  policyKey,
} from '../../../schemas/policy/policy.ts';

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
  `  ${setting}: ${valueText(setting, from)} to ${valueText(setting, to)}`;

/** What a selector without this condition selects by it. */
const WITHOUT_CONDITION: Readonly<Record<string, string>> = {
  'selector.clusters': 'every cluster',
  'selector.nodeNames': 'every node',
  'selector.pools': 'every pool',
  'selector.nodeLabels': 'any labels',
} satisfies Record<`selector.${keyof NodeSelector}`, string>;

function valueText(setting: string, value: unknown): string {
  const meaning = isEmpty(value) ? WITHOUT_CONDITION[setting] : undefined;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return meaning === undefined ? text : `${text} (${meaning})`;
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;
