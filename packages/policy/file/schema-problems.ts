import type { z } from 'zod';
import { CLUSTER_POLICY_SETTINGS } from '../../../schemas/policy/cluster-policy-file.ts';
import { EVICTION_MAPS, WRITTEN_SIGNALS } from '../../../schemas/policy/eviction-settings.ts';
import { OTHER_KUBELET_FIELDS } from '../../../schemas/policy/kubelet-configuration.ts';
import { POLICY_SETTINGS } from '../../../schemas/policy/policy-file.ts';
import { nearestName } from '../../text/nearest-name.ts';
import { type Problem, pathText, type YamlDocument } from './yaml-document.ts';

type Issue = z.core.$ZodIssue;

/** What a kubelet knows and a policy does not; a suggestion would lead to a setting that means something else. */
const SETTINGS_OF_A_KUBELET: ReadonlyMap<string, string> = new Map([
  ['evictionPressureTransitionPeriod', 'is about conditions that the kubelet reports; remove it'],
  ['evictionMaxPodGracePeriod', 'is about evicting pods, which FleetGC does not do; remove it'],
  ['podLogsDir', 'is said where the node is started, with --pod-logs-dir; remove it'],
]);

/** The settings of a policy, by section. */
export type SettingNames = Readonly<Record<string, readonly string[]>>;

const NODE_SETTINGS: SettingNames = {
  ...POLICY_SETTINGS,
  ...Object.fromEntries(EVICTION_MAPS.map((map) => [map, WRITTEN_SIGNALS])),
};

/**
 * Every issue of a failed parse, as a sentence with its place in the document. One after the other, since each place is looked for
 * along the document.
 */
export function* schemaProblems(
  error: z.ZodError,
  document: YamlDocument,
  names: SettingNames = NODE_SETTINGS,
): Generator<Problem, void> {
  for (const issue of error.issues) yield* issueProblems(issue, document, names);
}

function* issueProblems(issue: Issue, document: YamlDocument, names: SettingNames): Generator<Problem, void> {
  if (issue.code !== 'unrecognized_keys') {
    yield { ...document.placeOf(issue.path), path: pathText(issue.path), message: issue.message };
    return;
  }
  for (const key of issue.keys)
    yield {
      ...document.placeOfKey(issue.path, key),
      path: pathText([...issue.path, key]),
      message: unknownSetting(pathText(issue.path), key, names),
    };
}

function unknownSetting(section: string, key: string, names: SettingNames): string {
  const ofAKubelet = section === '' && names === NODE_SETTINGS ? SETTINGS_OF_A_KUBELET.get(key) : undefined;
  if (ofAKubelet !== undefined) return ofAKubelet;
  const about = section === '' && names === NODE_SETTINGS ? purposeInKubelet(key) : undefined;
  if (about !== undefined)
    return `is a setting of the kubelet (${about}) that no policy has; remove it, or give the whole file to "fleetgc policy from-kubelet"`;
  const other = section === '' ? ofOtherKind(key, names) : null;
  if (other !== null) return other;
  const suggestion = nearestIn(section, key, names) ?? inAnotherSection(key, names);
  const noSuch = `there is no such ${isEvictionMap(section) ? 'signal' : 'setting'}`;
  return suggestion === undefined ? noSuch : `${noSuch}; did you mean ${suggestion}?`;
}

/** What a field of KubeletConfiguration is about that has no part in garbage collection; `undefined` of any other name. */
const purposeInKubelet = (key: string): string | undefined =>
  Object.entries(OTHER_KUBELET_FIELDS).find(([, fields]) => fields.includes(key))?.[0];

/** Of a setting that only policies of the other kind have. */
function ofOtherKind(key: string, names: SettingNames): string | null {
  const [own = [], nodes = [], clusters = []] = [names, NODE_SETTINGS, CLUSTER_POLICY_SETTINGS].map(
    (settings) => settings[''] ?? [],
  );
  if (own.includes(key)) return null;
  if (clusters.includes(key))
    return `is a setting of policies for clusters, which begin with kind: ClusterPolicy`;
  return nodes.includes(key) ? 'is a setting of policies for nodes, which this one is not' : null;
}

const isEvictionMap = (section: string): boolean => EVICTION_MAPS.some((map) => map === section);

function nearestIn(section: string, key: string, names: SettingNames): string | undefined {
  const name = nearestName(key, names[section] ?? []);
  return name === undefined || section === '' || isEvictionMap(section) ? name : `${section}.${name}`;
}

function inAnotherSection(key: string, names: SettingNames): string | undefined {
  const section = Object.keys(names).find((name) => names[name]?.includes(key) && !isEvictionMap(name));
  if (section === undefined) return undefined;
  return section === '' ? `${key} of the policy itself, one level up` : `${section}.${key}`;
}
