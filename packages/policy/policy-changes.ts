import { isDeepStrictEqual } from 'node:util';
import type { Policy, PolicyRecord } from '../../schemas/policy/policy.ts';
import { contentHash, deriveId } from '../canonical/ids.ts';
import type { WrittenPolicy } from './file/read-policy-file.ts';

/** One setting that differs. */
export interface SettingChange {
  /** As in `selector.clusters`. */
  readonly setting: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** What applying a policy would do. */
export type PolicyChange =
  | { readonly kind: 'created'; readonly record: PolicyRecord }
  | { readonly kind: 'changed'; readonly record: PolicyRecord; readonly settings: readonly SettingChange[] }
  | { readonly kind: 'unchanged'; readonly record: PolicyRecord }
  /** The same stands there already, but does not count: nobody signed it as it has to be, or an old record was put back. */
  | { readonly kind: 'written-again'; readonly record: PolicyRecord };

/** The record of a written policy that nothing of its name came before; equal policies give equal ids and hashes. */
export function toPolicyRecord({ policy, source }: WrittenPolicy): PolicyRecord {
  const hash = contentHash(policy);
  return {
    type: 'fleetgc.policy',
    version: 1,
    id: deriveId('policy', hash),
    policy,
    policyVersion: 1,
    hash,
    source,
  };
}

/**
 * The same with the version that follows; content that comes back is another version, and has another id. What holds may be anybody's:
 * nobody reads a version above the highest number, so after that it begins anew, as after a deletion.
 */
const following = (record: PolicyRecord, held: PolicyRecord): PolicyRecord => {
  const policyVersion = (held.policyVersion % Number.MAX_SAFE_INTEGER) + 1;
  return { ...record, id: deriveId('policy', record.hash, String(policyVersion)), policyVersion };
};

/**
 * Compares what was written with what holds. A different text that means the same is no change. `uncounted`: which of what holds does
 * not count as it stands there, by name.
 */
export const policyChanges = (
  written: readonly WrittenPolicy[],
  holding: ReadonlyMap<string, PolicyRecord>,
  uncounted: ReadonlySet<string>,
): readonly PolicyChange[] =>
  written.map(toPolicyRecord).map((record) => {
    const { name } = record.policy;
    return changeTo(record, holding.get(name), !uncounted.has(name));
  });

function changeTo(record: PolicyRecord, held: PolicyRecord | undefined, counts: boolean): PolicyChange {
  if (held === undefined) return { kind: 'created', record };
  const { id, policyVersion } = held;
  if (held.hash === record.hash)
    return { kind: counts ? 'unchanged' : 'written-again', record: { ...record, id, policyVersion } };
  return {
    kind: 'changed',
    record: following(record, held),
    settings: settingChanges(held.policy, record.policy),
  };
}

function settingChanges(from: Policy, to: Policy): readonly SettingChange[] {
  const [before, after] = [new Map(settingsOf(from)), new Map(settingsOf(to))];
  return [...after]
    .map(([setting, value]) => ({ setting, from: before.get(setting), to: value }))
    .filter((change) => !isDeepStrictEqual(change.from, change.to));
}

/** The settings of a policy, those of its sections by their full names. */
const settingsOf = ({ selector, keep, ...own }: Policy): readonly (readonly [string, unknown])[] => [
  ...Object.entries(own),
  ...Object.entries(selector).map(([name, value]) => [`selector.${name}`, value] as const),
  ...Object.entries(keep).map(([name, value]) => [`keep.${name}`, value] as const),
];
