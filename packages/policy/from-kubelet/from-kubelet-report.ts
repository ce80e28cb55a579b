import { EVICTION_MAPS, isIgnoredSignal } from '../../../schemas/policy/eviction-settings.ts';
import { SharedSettings } from '../../../schemas/policy/kubelet-configuration.ts';
import { OTHER_KUBELET_FIELDS } from '../../../schemas/policy/kubelet-configuration-fields.ts';
import type { PolicyFile } from '../../../schemas/policy/policy-file.ts';
import { nearestName } from '../../text/nearest-name.ts';
import { droppedDefaultsText } from '../file/warnings.ts';
import type { KubeletFile } from './kubelet-file.ts';

/** What became of each field of a kubelet's configuration, for people. */
export interface FromKubeletReport {
  readonly reported: readonly string[];
  readonly warnings: readonly string[];
}

const HEADER = ['apiVersion', 'kind'];
const CHECKED_ONLY = 'featureGates';
const KNOWN: readonly string[] = [
  ...HEADER,
  ...Object.keys(SharedSettings.shape),
  'podLogsDir',
  CHECKED_ONLY,
  ...Object.values(OTHER_KUBELET_FIELDS).flat(),
];

export const reportOf = (configuration: KubeletFile, policy: PolicyFile): FromKubeletReport => ({
  reported: [
    ...takenOver(policy),
    ...ignoredSignals(configuration),
    ...replacedThresholds(policy),
    ...defaultsWritten(configuration, policy),
    ...onTheNode(configuration),
    ...ofOtherPurpose(configuration.fields),
  ],
  warnings: [...unknownFields(configuration.fields), ...droppedThresholds(configuration)],
});

/** The kubelet does so too, and a threshold of memory alone is often meant to be one more. */
function droppedThresholds({ settings }: KubeletFile): readonly string[] {
  const { evictionHard, mergeDefaultEvictionSettings } = settings;
  const text = droppedDefaultsText(evictionHard, mergeDefaultEvictionSettings ?? false);
  return text === null ? [] : [`evictionHard: ${text}`];
}

/** One sentence for each field that no kubelet knows. */
export const unknownFields = (fields: readonly string[]): readonly string[] =>
  fields.filter((field) => !KNOWN.includes(field)).map(unknownField);

/** Everything in the policy that its author did not have to choose. */
function takenOver(policy: PolicyFile): readonly string[] {
  const { name: _, mode: __, profile: ___, ...settings } = policy;
  const lines = Object.entries(settings).map(([key, value]) => `  ${key}: ${valueText(value)}`);
  return lines.length === 0
    ? ['Taken over: nothing; the kubelet runs with its defaults, and so does the policy.']
    : ['Taken over:', ...lines];
}

function valueText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const entries = Object.entries(value).map(([signal, amount]) => `${signal} ${String(amount)}`);
  return entries.length === 0 ? '(no threshold of a disk)' : entries.join(', ');
}

function ignoredSignals({ settings }: KubeletFile): readonly string[] {
  const ignored = EVICTION_MAPS.flatMap((map) =>
    Object.keys(settings[map] ?? {})
      .filter(isIgnoredSignal)
      .map((signal) => `${map}.${signal}`),
  );
  return ignored.length === 0
    ? []
    : [`Ignored, since removing images and containers frees none of it: ${ignored.join(', ')}.`];
}

/** J6 */
function replacedThresholds(policy: PolicyFile): readonly string[] {
  const replaced = EVICTION_MAPS.flatMap((map) =>
    Object.keys(policy[map] ?? {})
      .filter((signal) => signal.startsWith('containerfs.'))
      .map((signal) => `${map}.${signal}`),
  );
  return replaced.length === 0
    ? []
    : [
        `Replaced by the values of nodefs or imagefs, as the kubelet does it: ${replaced.join(', ')}. containerfs has no thresholds of its own.`,
      ];
}

/** Fields that could be taken over, and say no more than their absence. */
function defaultsWritten(
  { settings, fields, podLogsDir }: KubeletFile,
  policy: PolicyFile,
): readonly string[] {
  const same = fields.filter((field) =>
    field === 'podLogsDir'
      ? podLogsDir === ''
      : isShared(field) && !(field in policy) && !hasSignals(settings[field]),
  );
  return same.length === 0 ? [] : [`Left out, since it is so anyway: ${same.join(', ')}.`];
}

const isShared = (field: string): field is keyof SharedSettings => Object.hasOwn(SharedSettings.shape, field);

/** Then what became of them is told by signal. */
const hasSignals = (value: SharedSettings[keyof SharedSettings]): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0;

const onTheNode = ({ podLogsDir = '' }: KubeletFile): readonly string[] =>
  podLogsDir === ''
    ? []
    : [`Not part of a policy: podLogsDir. Start the nodes of FleetGC with --pod-logs-dir ${podLogsDir}.`];

function ofOtherPurpose(fields: readonly string[]): readonly string[] {
  const groups = Object.entries(OTHER_KUBELET_FIELDS).map(([about, names]) => ({
    about,
    names: fields.filter((field) => names.includes(field)),
  }));
  const gates = fields.includes(CHECKED_ONLY) ? [{ about: 'feature gates', names: [CHECKED_ONLY] }] : [];
  const lines = [...groups, ...gates]
    .filter(({ names }) => names.length > 0)
    .map(({ about, names }) => `  ${about}: ${names.join(', ')}`);
  return lines.length === 0 ? [] : ['Ignored, having no meaning for garbage collection:', ...lines];
}

function unknownField(field: string): string {
  const meant = nearestName(field, KNOWN);
  const suggestion = meant === undefined ? '' : `; did you mean ${meant}?`;
  return `${field} is no field of KubeletConfiguration that FleetGC knows, and was ignored${suggestion}`;
}
