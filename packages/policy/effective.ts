import { isDeepStrictEqual } from 'node:util';
import { DEFAULT_EVICTION_HARD, EVICTION_MAPS } from '../../schemas/policy/eviction-settings.ts';
import type { NodeSelector, PauseRecord, PolicyRecord, PolicySet } from '../../schemas/policy/policy.ts';
import { POLICY_SETTINGS, PolicyFile } from '../../schemas/policy/policy-file.ts';
import {
  POOL_LABEL,
  type SelectableNode,
  selectPolicy,
  selects,
} from '../../schemas/policy/policy-selection.ts';
import { parseDurationMs } from '../../schemas/policy/quantity.ts';
import { writtenForm } from './file/written-form.ts';
import { parseYaml, type YamlDocument } from './file/yaml-document.ts';

/** Why a policy does not hold for a node. */
export type NotHolding =
  | { readonly kind: 'does-not-select'; readonly unmet: readonly UnmetCondition[] }
  | { readonly kind: 'lower-priority'; readonly than: string }
  /** Of equal priority. */
  | { readonly kind: 'later-by-name'; readonly than: string };

/** What holds for one node, and why. */
export interface EffectivePolicy {
  readonly node: SelectableNode;
  /** The pauses that select the node: while there is one, nothing is removed. */
  readonly pausedBy: readonly PauseRecord[];
  /** The policy that holds, or would without the pause; `null`: everything is kept. */
  readonly record: PolicyRecord | null;
  /** Of that policy; `null` where it is not applied, and of none. */
  readonly version: number | null;
  readonly settings: readonly EffectiveSetting[];
  readonly otherPolicies: readonly { readonly record: PolicyRecord; readonly reason: NotHolding }[];
  readonly otherPauses: readonly {
    readonly pause: PauseRecord;
    readonly unmet: readonly UnmetCondition[];
  }[];
}

/** Asks as the deciders do, and for what does not hold, why. */
export function effectivePolicy(
  set: PolicySet,
  node: SelectableNode,
  { isApplied }: { readonly isApplied: boolean },
): EffectivePolicy {
  const selection = selectPolicy({ ...set, pauses: [] }, node);
  const record = selection.kind === 'policy' ? selection.record : null;
  return {
    node,
    pausedBy: set.pauses.filter(({ selector }) => selects(selector, node)),
    record,
    version: record !== null && isApplied ? record.policyVersion : null,
    settings: record === null ? [] : settingOrigins(record),
    otherPolicies: set.policies
      .filter((other) => other !== record)
      .map((other) => ({ record: other, reason: notHolding(other, record, node) })),
    otherPauses: set.pauses
      .map((pause) => ({ pause, unmet: unmetConditions(pause.selector, node) }))
      .filter(({ unmet }) => unmet.length > 0),
  };
}

function notHolding(
  { policy }: PolicyRecord,
  holding: PolicyRecord | null,
  node: SelectableNode,
): NotHolding {
  const unmet = unmetConditions(policy.selector, node);
  if (unmet.length > 0 || holding === null) return { kind: 'does-not-select', unmet };
  const { name, priority } = holding.policy;
  return { kind: policy.priority < priority ? 'lower-priority' : 'later-by-name', than: name };
}

/** A condition of a selector that a node does not meet. */
interface UnmetCondition {
  /** As in `selector.nodeLabels.role`. */
  readonly setting: string;
  readonly wants: string;
  /** What the node has instead; `null` when it has nothing of the kind. */
  readonly has: string | null;
}

const NO_CONDITIONS: NodeSelector = { clusters: [], nodeNames: [], pools: [], nodeLabels: {} };

/** Why a selector does not select a node; nothing exactly when it does. */
export const unmetConditions = (selector: NodeSelector, node: SelectableNode): readonly UnmetCondition[] =>
  conditionsOf(selector, node)
    .filter(({ part }) => !selects({ ...NO_CONDITIONS, ...part }, node))
    .map(({ condition }) => condition);

interface Condition {
  readonly part: Partial<NodeSelector>;
  readonly condition: UnmetCondition;
}

function conditionsOf(selector: NodeSelector, node: SelectableNode): readonly Condition[] {
  const { clusters, nodeNames, pools, nodeLabels } = selector;
  const condition = (setting: string, wants: string, has: string | undefined): UnmetCondition => ({
    setting: `selector.${setting}`,
    wants,
    has: has === undefined || has === '' ? null : has,
  });
  return [
    { part: { clusters }, condition: condition('clusters', clusters.join(' or '), node.cluster) },
    { part: { nodeNames }, condition: condition('nodeNames', nodeNames.join(' or '), node.node) },
    { part: { pools }, condition: condition('pools', pools.join(' or '), node.nodeLabels[POOL_LABEL]) },
    ...Object.entries(nodeLabels).map(([name, value]) => ({
      part: { nodeLabels: { [name]: value } },
      condition: condition(`nodeLabels.${name}`, value, node.nodeLabels[name]),
    })),
  ];
}

export const unmetText = (conditions: readonly UnmetCondition[]): string =>
  conditions
    .map((condition) => `${condition.setting} is ${condition.wants}, ${hasText(condition)}`)
    .join('; ');

function hasText({ setting, has }: UnmetCondition): string {
  if (has !== null) return `the node has ${has}`;
  return setting === 'selector.clusters' ? 'no cluster was given' : 'the node has none';
}

/** Where the value of a setting comes from. */
export type Origin =
  /** `line`: of the text that was applied. */
  | { readonly kind: 'written'; readonly line: number }
  /** `mergedByLine`: the one that asked for it beside the thresholds that are written. */
  | { readonly kind: 'kubelet-configuration'; readonly mergedByLine?: number }
  | { readonly kind: 'kubelet-flag' }
  | { readonly kind: 'profile' }
  /** Not written, and not what this release would fill in: the release that applied it did. */
  | { readonly kind: 'when-applied' }
  /** The text that was applied is not to be had. */
  | { readonly kind: 'unknown' };

interface EffectiveSetting {
  /** As in `keep.images` or `evictionHard.nodefs.available`. */
  readonly setting: string;
  /** As one would write it; `null` is off. */
  readonly value: unknown;
  readonly origin: Origin;
}

interface Written {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Every setting of an applied policy but its name and its selector, each with where it comes from. */
export function settingOrigins({ policy, source }: PolicyRecord): readonly EffectiveSetting[] {
  const [document] = parseYaml('', source);
  const filledInNow = new Map(document ? settingsNow(document) : []);
  return settingsOf(writtenForm(policy)).map(({ path, value }) => {
    const setting = path.join('.');
    return { setting, value, origin: originOf({ path, value }, document, filledInNow.get(setting)) };
  });
}

function originOf(
  { path, value }: Written,
  document: YamlDocument | undefined,
  now: Pick<Written, 'value'> | undefined,
): Origin {
  if (!document?.wellFormed) return { kind: 'unknown' };
  const dropped = value === null && path[0] === 'evictionHard' && isWritten(document.value, ['evictionHard']);
  if (dropped || isWritten(document.value, path))
    return { kind: 'written', line: document.placeOf(path).line };
  return now && isDeepStrictEqual(now.value, value) ? defaultOf(path, document) : { kind: 'when-applied' };
}

/** What this release makes of the text that was applied. */
function settingsNow({ value }: YamlDocument): (readonly [string, Written])[] {
  const { data } = PolicyFile.safeParse(value);
  return data ? settingsOf(writtenForm(data)).map((written) => [written.path.join('.'), written]) : [];
}

const NOT_SETTINGS = ['name', 'selector', 'mergeDefaultEvictionSettings'];
const MAPS: readonly string[] = [...EVICTION_MAPS, 'keep'];

function settingsOf(file: PolicyFile): readonly Written[] {
  const values = new Map<string, unknown>(Object.entries(file));
  return (POLICY_SETTINGS[''] ?? [])
    .filter((setting) => !NOT_SETTINGS.includes(setting))
    .flatMap((setting) => settingsIn(setting, values.get(setting) ?? null));
}

/** A map that holds nothing is one setting, so that it is told. */
function settingsIn(setting: string, value: unknown): readonly Written[] {
  if (!MAPS.includes(setting)) return [{ path: [setting], value }];
  const entries = Object.entries({
    ...(setting === 'evictionHard' && NO_DEFAULT_THRESHOLD),
    ...Object(value),
  });
  if (entries.length === 0) return [{ path: [setting], value: null }];
  return entries.map(([name, own]) => ({ path: [setting, name], value: own }));
}

/** B14: where a default was dropped, that is a value too. */
const NO_DEFAULT_THRESHOLD = Object.fromEntries(
  Object.keys(DEFAULT_EVICTION_HARD).map((signal) => [signal, null]),
);

function isWritten(text: unknown, path: readonly string[]): boolean {
  const value = path.reduce<unknown>(
    (around, name) =>
      typeof around === 'object' && around !== null && Object.hasOwn(around, name)
        ? Object.getOwnPropertyDescriptor(around, name)?.value
        : undefined,
    text,
  );
  return value !== undefined && !standsForDefault(path, value);
}

/** B3 */
const standsForDefault = ([setting]: readonly string[], value: unknown): boolean =>
  setting === 'imageMinimumGCAge' && typeof value === 'string' && parseDurationMs(value) === 0;

const OF_KUBELET_CONFIGURATION: readonly string[] = [
  'imageGCHighThresholdPercent',
  'imageGCLowThresholdPercent',
  'imageMinimumGCAge',
  'imageMaximumGCAge',
  ...EVICTION_MAPS,
];
/** B1 */
const OF_KUBELET_FLAGS: readonly string[] = [
  'minimumContainerTTLDuration',
  'maximumDeadContainersPerContainer',
  'maximumDeadContainers',
];

function defaultOf(path: readonly string[], document: YamlDocument): Origin {
  const [setting = ''] = path;
  if (OF_KUBELET_CONFIGURATION.includes(setting))
    return { kind: 'kubelet-configuration', ...mergedBy(path, document) };
  return { kind: OF_KUBELET_FLAGS.includes(setting) ? 'kubelet-flag' : 'profile' };
}

const MERGING = ['mergeDefaultEvictionSettings'] as const;

/** Without thresholds that are written the defaults hold anyway (B14). */
const mergedBy = ([setting]: readonly string[], { value, placeOf }: YamlDocument) =>
  setting === 'evictionHard' && isWritten(value, [setting]) && isWritten(value, MERGING)
    ? { mergedByLine: placeOf(MERGING).line }
    : {};
