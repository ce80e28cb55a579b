import { z } from 'zod';
import { EVICTION_MAPS, isIgnoredSignal } from '../../../schemas/policy/eviction-settings.ts';
import {
  KUBELET_KIND,
  KubeletConfiguration,
  OTHER_KUBELET_FIELDS,
  SharedSettings,
} from '../../../schemas/policy/kubelet-configuration.ts';
import type { PolicyFile } from '../../../schemas/policy/policy-file.ts';
import { nearestName } from '../../text/nearest-name.ts';
import { schemaProblems } from '../file/schema-problems.ts';
import { droppedDefaultsText } from '../file/warnings.ts';
import {
  byPlace,
  KUBERNETES_YAML,
  type PolicyText,
  type Problem,
  parseYaml,
  problemAt,
  type YamlDocument,
  yamlOfPolicy,
} from '../file/yaml-document.ts';

/** What a policy needs and no configuration file of a kubelet says. */
export interface PolicyChoices extends Pick<PolicyFile, 'name' | 'mode' | 'profile'> {
  /** Flags of the kubelet that its file cannot say (B1). */
  readonly minimumContainerTTLDuration?: string | undefined;
  readonly maximumDeadContainersPerContainer?: number | undefined;
  readonly maximumDeadContainers?: number | undefined;
}

/** The policy that does on its nodes what the kubelet's settings say; what is not written there keeps its default. */
export function policyFromKubelet({ settings }: KubeletFile, choices: PolicyChoices): PolicyFile {
  const { name, mode, profile } = choices;
  return {
    name,
    mode,
    profile,
    ...plainSettings(settings),
    ...evictionMaps(settings),
    ...(settings.mergeDefaultEvictionSettings === true && { mergeDefaultEvictionSettings: true }),
    ...containerSettings(choices),
  };
}

const plainSettings = (settings: SharedSettings): Partial<PolicyFile> => ({
  ...given('imageGCHighThresholdPercent', settings.imageGCHighThresholdPercent),
  ...given('imageGCLowThresholdPercent', settings.imageGCLowThresholdPercent),
  ...given('imageMinimumGCAge', settings.imageMinimumGCAge),
  ...given('imageMaximumGCAge', settings.imageMaximumGCAge),
});

const containerSettings = (choices: PolicyChoices): Partial<PolicyFile> => ({
  ...given('minimumContainerTTLDuration', choices.minimumContainerTTLDuration),
  ...given('maximumDeadContainersPerContainer', choices.maximumDeadContainersPerContainer),
  ...given('maximumDeadContainers', choices.maximumDeadContainers),
});

const given = <Key extends string, Value>(key: Key, value: Value | null | undefined) =>
  value === null || value === undefined ? {} : { [key]: value };

/**
 * Without the signals on which nothing is removed. A map of `evictionHard` that holds no other stays, empty: it drops the
 * defaults all the same (B14).
 */
function evictionMaps(settings: SharedSettings): Partial<PolicyFile> {
  const maps = EVICTION_MAPS.flatMap((map) => {
    const written = settings[map];
    if (written === null || written === undefined) return [];
    const kept = Object.entries(written).filter(([signal]) => !isIgnoredSignal(signal));
    return kept.length > 0 || map === 'evictionHard' ? [[map, Object.fromEntries(kept)] as const] : [];
  });
  return Object.fromEntries(maps);
}

/** A kubelet's configuration that its kubelet would accept. */
export interface KubeletFile {
  readonly settings: SharedSettings;
  /** Names of all top-level fields, in the order of the file. */
  readonly fields: readonly string[];
  /** As written; `undefined` when it is not. */
  readonly podLogsDir: string | undefined;
}

export type KubeletFileReading =
  | { readonly valid: true; readonly configuration: KubeletFile }
  | {
      readonly valid: false;
      readonly problems: readonly Problem[];
      /** As of a `KubeletFile`; none of a file that does not say that it is one. */
      readonly fields: readonly string[];
    };

/** Reads a configuration file of a kubelet, YAML or JSON, and reports all problems at once (B12). */
export function readKubeletFile({ file, text }: PolicyText): KubeletFileReading {
  const [document, ...more] = parseYaml(file, text, KUBERNETES_YAML);
  if (!document) return refused([{ file, line: 1, column: 1, path: '', message: 'this file is empty' }]);
  const second = more.map((other) =>
    problemAt(other, [], 'a kubelet reads one document; put the others elsewhere'),
  );
  if (!document.wellFormed) return refused([...document.problems, ...second]);
  const wrapped = wrapperAdvice(document.value);
  if (wrapped !== null) return refused([problemAt(document, [], wrapped)]);
  const { data, error } = KubeletConfiguration.safeParse(document.value);
  const problems = [...document.problems, ...(error ? schemaProblems(error, document) : []), ...second];
  if (!data || problems.length > 0) return refused(problems, fieldsOf(document));
  return { valid: true, configuration: kubeletFile(document, data.podLogsDir) };
}

const refused = (problems: readonly Problem[], fields: readonly string[] = []): KubeletFileReading => ({
  valid: false,
  problems: problems.toSorted(byPlace),
  fields,
});

const { kind: Kind } = KubeletConfiguration.shape;
const OfItsKind = z.looseObject({}).refine(({ kind }) => Kind.safeParse(kind).success);

const fieldsOf = ({ value }: YamlDocument): readonly string[] =>
  Object.keys(OfItsKind.safeParse(value).data ?? {});

const kubeletFile = (document: YamlDocument, podLogsDir: string | undefined): KubeletFile => ({
  settings: SharedSettings.parse(document.value),
  fields: fieldsOf(document),
  podLogsDir,
});

const OfKubelet = z.looseObject({ kind: z.literal(KUBELET_KIND) });

/** What to do with such a document, and the lines of the policy that it makes. */
interface PastedAdvice {
  readonly message: string;
  readonly lines?: readonly string[];
}

/**
 * What to do with a document that is written for a kubelet and was given in place of a policy, with the policy that it makes; `null`
 * of any other. `file` is as a person names it.
 */
export function pastedKubeletAdvice(file: string, { value, source }: YamlDocument): PastedAdvice | null {
  const wrapped = wrapperAdvice(value);
  if (wrapped !== null)
    return { message: `this is no policy; ${wrapped}. ${HOW} makes a policy of that file` };
  if (!OfKubelet.safeParse(value).success) return null;
  const reading = readKubeletFile({ file, text: source });
  if (!reading.valid)
    return {
      message: `this is a ${KUBELET_KIND} and no policy. ${HOW} makes a policy of it, and says first what is wrong with it`,
    };
  const policy = policyFromKubelet(reading.configuration, {
    name: 'kubelet',
    mode: 'dry-run',
    profile: 'kubelet',
  });
  return {
    message: `this is a ${KUBELET_KIND} and no policy. As a policy it is as follows; ${HOW} prints it, and what it leaves out:`,
    lines: yamlOfPolicy(policy)
      .trimEnd()
      .split('\n')
      .map((line) => `  ${line}`),
  };
}

const HOW = '"fleetgc policy from-kubelet FILE"';

/** A file of another tool that has the kubelet's settings somewhere within. */
interface Wrapper {
  /** As its tool calls it, with its article. */
  readonly what: string;
  /** Where the settings lie in it. */
  readonly place: string;
  /** What has to be there for a file to be one. */
  readonly shape: z.ZodType;
}

const some = z.unknown().refine((value) => value !== undefined && value !== null);
const apiGroup = (group: string, kind: string) =>
  z.looseObject({ apiVersion: z.string().startsWith(`${group}/`), kind: z.literal(kind) });

const WRAPPERS: readonly Wrapper[] = [
  {
    what: 'an OpenShift KubeletConfig',
    place: 'spec.kubeletConfig',
    shape: apiGroup('machineconfiguration.openshift.io', 'KubeletConfig'),
  },
  {
    what: 'the configuration of a kind cluster',
    place: 'kubeadmConfigPatches, in the patch of kind KubeletConfiguration',
    shape: apiGroup('kind.x-k8s.io', 'Cluster'),
  },
  {
    what: 'the configuration of an EKS node',
    place: 'spec.kubelet.config',
    shape: apiGroup('node.eks.aws', 'NodeConfig'),
  },
  { what: 'a kOps cluster', place: 'spec.kubelet', shape: apiGroup('kops.k8s.io', 'Cluster') },
  {
    what: 'the configuration of a k0s cluster',
    place: 'spec.workerProfiles[].values',
    shape: apiGroup('k0s.k0sproject.io', 'ClusterConfig'),
  },
  {
    what: 'a Gardener Shoot',
    place: 'spec.kubernetes.kubelet',
    shape: apiGroup('core.gardener.cloud', 'Shoot'),
  },
  {
    what: 'a ConfigMap',
    place: 'data.kubelet, as text',
    shape: z.looseObject({ apiVersion: z.literal('v1'), kind: z.literal('ConfigMap') }),
  },
  {
    what: "an answer of the kubelet's /configz",
    place: 'kubeletconfig, without apiVersion and kind',
    shape: z.looseObject({ kubeletconfig: some }),
  },
  {
    what: 'the machine configuration of a Talos node',
    place: 'machine.kubelet.extraConfig, without apiVersion and kind',
    shape: z.looseObject({ machine: z.looseObject({ kubelet: some }) }),
  },
  {
    what: 'a configuration file of K3s or RKE2',
    place: 'arguments of the kubelet (kubelet-arg), or in the file that its argument config names',
    shape: z.looseObject({ 'kubelet-arg': some }),
  },
];

/** Where the settings lie in a file that holds them within; `null` of any other file. */
function wrapperAdvice(value: unknown): string | null {
  const wrapper = WRAPPERS.find(({ shape }) => shape.safeParse(value).success);
  if (wrapper === undefined) return null;
  return `this is ${wrapper.what}: the settings of the kubelet are in ${wrapper.place}. Put them into a file of their own, below apiVersion: kubelet.config.k8s.io/v1beta1 and kind: KubeletConfiguration`;
}

/** What became of each field of a kubelet's configuration, for people. */
interface FromKubeletReport {
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
