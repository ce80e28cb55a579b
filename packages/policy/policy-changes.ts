import { isDeepStrictEqual } from 'node:util';
import type { SubjectKind } from '../../schemas/events/identity.ts';
import type { ClusterPolicyRecord } from '../../schemas/policy/cluster-policy.ts';
import { type PolicyRecord, type PolicyRecordOf, policyKey } from '../../schemas/policy/policy.ts';
import { contentHash, deriveId } from '../canonical/ids.ts';
import type { AnyWrittenPolicy, WrittenClusterPolicy, WrittenPolicy } from './file/read-policy-file.ts';

/** One setting that differs. */
export interface SettingChange {
  /** As in `selector.clusters`. */
  readonly setting: string;
  readonly from: unknown;
  readonly to: unknown;
}

type AnyPolicyRecord = PolicyRecordOf<SubjectKind>;

/** What applying a policy would do. */
export type PolicyChange =
  | { readonly kind: 'created'; readonly record: AnyPolicyRecord }
  | {
      readonly kind: 'changed';
      readonly record: AnyPolicyRecord;
      readonly settings: readonly SettingChange[];
    }
  | { readonly kind: 'unchanged'; readonly record: AnyPolicyRecord }
  /** The same stands there already, but does not count: nobody signed it as it has to be, or an old record was put back. */
  | { readonly kind: 'written-again'; readonly record: AnyPolicyRecord };

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

/** The same of a policy for clusters. */
export function toClusterPolicyRecord({ policy, source }: WrittenClusterPolicy): ClusterPolicyRecord {
  const hash = contentHash(policy);
  return {
    type: 'fleetgc.cluster-policy',
    version: 1,
    id: deriveId('cluster-policy', hash),
    policy,
    policyVersion: 1,
    hash,
    source,
  };
}

/** The same of a policy for any kind of subject. */
export const toAnyPolicyRecord = (written: AnyWrittenPolicy): AnyPolicyRecord =>
  written.subject === 'cluster' ? toClusterPolicyRecord(written) : toPolicyRecord(written);

/**
 * The same with the version that follows; content that comes back is another version, and has another id. What holds may be anybody's:
 * nobody reads a version above the highest number, so after that it begins anew, as after a deletion.
 */
const following = (record: AnyPolicyRecord, held: AnyPolicyRecord): AnyPolicyRecord => {
  const policyVersion = (held.policyVersion % Number.MAX_SAFE_INTEGER) + 1;
  return { ...record, id: deriveId('policy', record.hash, String(policyVersion)), policyVersion };
};

/**
 * Compares what was written with what holds. A different text that means the same is no change. `uncounted`: which of what holds does
 * not count as it stands there, by record key, as `holding` is.
 */
export const policyChanges = (
  written: readonly AnyPolicyRecord[],
  holding: ReadonlyMap<string, AnyPolicyRecord>,
  uncounted: ReadonlySet<string>,
): readonly PolicyChange[] =>
  written.map((record) => {
    const key = policyKey(record);
    return changeTo(record, holding.get(key), !uncounted.has(key));
  });

function changeTo(record: AnyPolicyRecord, held: AnyPolicyRecord | undefined, counts: boolean): PolicyChange {
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

type AnyPolicy = AnyPolicyRecord['policy'];

function settingChanges(from: AnyPolicy, to: AnyPolicy): readonly SettingChange[] {
  const [before, after] = [new Map(settingsOf(from)), new Map(settingsOf(to))];
  return [...after]
    .map(([setting, value]) => ({ setting, from: before.get(setting), to: value }))
    .filter((change) => !isDeepStrictEqual(change.from, change.to));
}

/** Their settings have full names, such as `selector.clusters`. */
const SECTIONS: readonly string[] = ['selector', 'keep', 'limits'];

/** The settings of a policy, those of its sections behind its own. */
function settingsOf(policy: AnyPolicy): readonly (readonly [string, unknown])[] {
  const all: readonly (readonly [string, unknown])[] = Object.entries(policy);
  const own = all.filter(([name]) => !SECTIONS.includes(name));
  const ofSections = all
    .filter(([name]) => SECTIONS.includes(name))
    .flatMap(([section, settings]) =>
      Object.entries(Object(settings)).map(([name, value]) => [`${section}.${name}`, value] as const),
    );
  return [...own, ...ofSections];
}
