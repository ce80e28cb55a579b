import { isDeepStrictEqual } from 'node:util';
import { DEFAULT_EVICTION_HARD, EVICTION_MAPS } from '../../schemas/policy/eviction-settings.ts';
import type { PolicyRecord } from '../../schemas/policy/policy.ts';
import { POLICY_SETTINGS, PolicyFile } from '../../schemas/policy/policy-file.ts';
import { parseDurationMs } from '../../schemas/policy/quantity.ts';
import { writtenForm } from './file/written-form.ts';
import { parseYaml, type YamlDocument } from './file/yaml-document.ts';

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

export interface EffectiveSetting {
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
