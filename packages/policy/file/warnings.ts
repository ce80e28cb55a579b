import { z } from 'zod';
import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
import {
  FORBIDDEN_GROUPS,
  FORBIDDEN_KINDS,
  FORBIDDEN_NAMESPACES,
  HELD_KINDS,
} from '../../../schemas/policy/cluster-policy-defaults.ts';
import {
  DEFAULT_EVICTION_HARD,
  EVICTION_MAPS,
  isIgnoredSignal,
} from '../../../schemas/policy/eviction-settings.ts';
import { endStatesOf, type OwnRule } from '../../../schemas/policy/own-rule.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { parseDurationMs } from '../../../schemas/policy/quantity.ts';
import { durationText } from '../../../schemas/policy/value-text.ts';
import { type Problem, problemAt, type YamlDocument } from './yaml-document.ts';

/** What is valid and yet may not do what its author thinks. */
export const warningsOn = (policy: Policy, document: YamlDocument): readonly Problem[] => [
  ...zeroMinimumAge(document),
  ...evictionWarnings(policy, document),
  ...policy.keep.patterns.flatMap((pattern, index) => keepPatternWarning(pattern, index, document)),
];

/** B3: a kubelet's configuration file cannot ask for zero either. */
function zeroMinimumAge(document: YamlDocument): readonly Problem[] {
  const path = ['imageMinimumGCAge'];
  const written = document.valueAt(path);
  if (typeof written !== 'string' || parseDurationMs(written) !== 0) return [];
  return [
    problemAt(
      document,
      path,
      'zero means the default, 2m, as it does to the kubelet; -1s means no minimum age',
    ),
  ];
}

function keepPatternWarning(pattern: string, index: number, document: YamlDocument): readonly Problem[] {
  const message = matchesNothing(pattern) ?? withoutRegistry(pattern);
  return message === null ? [] : [problemAt(document, ['keep', 'images', index], message)];
}

/** By the grammar of image names: registry, repository, tag or digest. */
function matchesNothing(pattern: string): string | null {
  const why = noNameBecause(pattern);
  return why === null ? null : `${pattern} keeps nothing: ${why}`;
}

function noNameBecause(pattern: string): string | null {
  if (pattern.includes('://')) return 'image names have no scheme; leave it out';
  if (pattern.startsWith('/') || pattern.includes('//'))
    return 'image names do not begin with a slash and have no two in a row';
  if (pattern.endsWith('/'))
    return `no image name ends with a slash; write ${pattern.replace(/(?:\/(?:\*\*)?)+$/, '')}/** for all below it`;
  if (/[:@]$/.test(pattern)) return `no image name ends with ${JSON.stringify(pattern.at(-1))}`;
  const disallowed = /[^\w./:@*?+-]/u.exec(pattern)?.[0];
  if (disallowed !== undefined) return `image names hold no ${JSON.stringify(disallowed)}`;
  return hasCapitals(pattern) ? 'repositories are written in small letters' : null;
}

/** Capitals may stand in a registry and in a tag, which a wildcard may begin. */
const hasCapitals = (pattern: string): boolean =>
  pattern
    .split('/')
    .slice(1)
    .some((part) => /[A-Z]/.test(part.split(/[:@*?]/, 1).join()));

/** A runtime lists `nginx` as `docker.io/library/nginx`, so the pattern `nginx*` would protect nothing. */
function withoutRegistry(pattern: string): string | null {
  const [first = '', ...rest] = pattern.split('/');
  if (/[*?]/.test(first) && rest.length > 0) return null;
  if (pattern === '**' || first === 'localhost') return null;
  if (rest.length > 0 && /[.:]/.test(first)) return null;
  return `${pattern} names no registry, but runtimes list images in full, as in docker.io/library/nginx:1.27`;
}

const TextMap = z.record(z.string(), z.string()).optional();
const Written = z.looseObject({
  evictionHard: TextMap,
  evictionSoft: TextMap,
  evictionSoftGracePeriod: TextMap,
  evictionMinimumReclaim: TextMap,
  mergeDefaultEvictionSettings: z.boolean().optional(),
  imageGCHighThresholdPercent: z.number().optional(),
});
type Written = z.infer<typeof Written>;

interface Warning {
  readonly path: readonly string[];
  readonly message: string;
}

/** What eviction settings that are valid may do differently from what their author thinks. */
function evictionWarnings(policy: Policy, document: YamlDocument): readonly Problem[] {
  const { data } = Written.safeParse(document.value);
  if (!data) return [];
  return [
    ...EVICTION_MAPS.flatMap((map) =>
      Object.keys(data[map] ?? {}).flatMap((signal) => ofSignal(map, signal)),
    ),
    ...thresholdSpellings(data),
    ...withoutThreshold(data),
    ...droppedDefaults(data),
    ...unreachable(policy),
    ...noRoom(policy, data),
  ].map(({ path, message }) => problemAt(document, path, message));
}

function ofSignal(map: string, signal: string): readonly Warning[] {
  const path = [map, signal];
  if (isIgnoredSignal(signal))
    return [{ path, message: 'ignored: removing images or containers frees none of it' }];
  if (!signal.startsWith('containerfs.') || !map.endsWith('rd')) return [];
  const message =
    'replaced by the value of nodefs or imagefs, whichever filesystem it shares, as the kubelet does';
  return [{ path, message }];
}

/** B15: only `0%` and `100%` to the letter mean none. */
function thresholdSpellings(written: Written): readonly Warning[] {
  const entries = (['evictionHard', 'evictionSoft'] as const).flatMap((map) =>
    Object.entries(written[map] ?? {}).map(([signal, value]) => ({ path: [map, signal], signal, value })),
  );
  return entries.flatMap(({ path, signal, value }) => {
    const message = isIgnoredSignal(signal) ? undefined : spellingWarning(value);
    return message === undefined ? [] : [{ path, message }];
  });
}

function spellingWarning(value: string): string | undefined {
  if (value === '0%' || value === '100%') return `${value} means no threshold`;
  if (!value.endsWith('%')) return undefined;
  const percent = Number.parseFloat(value);
  if (percent === 0) return 'is never met; 0% means no threshold';
  return percent === 100 ? 'is met all the time; 100% means no threshold' : undefined;
}

function withoutThreshold(written: Written): readonly Warning[] {
  const {
    evictionHard,
    evictionSoft = {},
    evictionSoftGracePeriod = {},
    evictionMinimumReclaim = {},
  } = written;
  const hard = evictionHard ?? DEFAULT_EVICTION_HARD;
  const grace = Object.keys(evictionSoftGracePeriod)
    .filter((signal) => !(signal in evictionSoft))
    .map((signal) => ({
      path: ['evictionSoftGracePeriod', signal],
      message: 'no soft threshold has this signal',
    }));
  const reclaim = Object.keys(evictionMinimumReclaim)
    .filter((signal) => !(signal in hard || signal in evictionSoft || isIgnoredSignal(signal)))
    .map((signal) => ({ path: ['evictionMinimumReclaim', signal], message: 'no threshold has this signal' }));
  return [...grace, ...reclaim];
}

/** B14 */
function droppedDefaults({
  evictionHard,
  mergeDefaultEvictionSettings = false,
}: Written): readonly Warning[] {
  const message = droppedDefaultsText(evictionHard, mergeDefaultEvictionSettings);
  return message === null ? [] : [{ path: ['evictionHard'], message }];
}

/** B14, for people: signals that lose the kubelet's default, since `evictionHard` names others; `null` where none does. */
export function droppedDefaultsText(
  evictionHard: Readonly<Record<string, unknown>> | null | undefined,
  mergesDefaults: boolean,
): string | null {
  if (evictionHard == null || mergesDefaults || Object.keys(evictionHard).length === 0) return null;
  const dropped = Object.keys(DEFAULT_EVICTION_HARD).filter((signal) => !(signal in evictionHard));
  if (dropped.length === 0) return null;
  return `${dropped.join(', ')} ${dropped.length === 1 ? 'has' : 'have'} no threshold now: what evictionHard does not name loses its default; mergeDefaultEvictionSettings: true keeps it`;
}

/** With a target above the whole disk, a reclaim would not end before there is nothing left to remove. */
const unreachable = ({ evictionThresholds }: Policy): readonly Warning[] =>
  evictionThresholds.flatMap(({ signal, kind, value, minimumReclaim }) =>
    minimumReclaim !== null &&
    'percent' in minimumReclaim &&
    'percent' in value &&
    minimumReclaim.percent + value.percent > 100
      ? [
          {
            path: ['evictionMinimumReclaim', signal],
            message: `together with the ${kind} threshold of ${value.percent}% this is more than there is: it is never reached`,
          },
        ]
      : [],
  );

/** M15; between the kubelet's own two defaults there is one percent, which is told where somebody changes one. */
function noRoom(policy: Policy, written: Written): readonly Warning[] {
  const { imageGCHighThresholdPercent: high, evictionThresholds, forcedGC } = policy;
  const signal = 'imagefs.available';
  const limit = evictionThresholds.find(
    (threshold) => threshold.signal === signal && threshold.kind === 'hard',
  );
  if (high === 100 || !forcedGC || limit === undefined || !('percent' in limit.value)) return [];
  if (100 - high > limit.value.percent) return [];
  const ownHigh = written.imageGCHighThresholdPercent !== undefined;
  if (!ownHigh && written.evictionHard?.[signal] === undefined) return [];
  return [
    {
      path: ownHigh ? ['imageGCHighThresholdPercent'] : ['evictionHard', signal],
      message: `removal by usage begins at ${100 - high}% available, and the eviction threshold of ${signal} is ${limit.value.percent}%: it has no room to act before removal is forced`,
    },
  ];
}

/** What of a policy for clusters is valid and yet may not do what its author thinks. */
export const clusterWarningsOn = (policy: ClusterPolicy, document: YamlDocument): readonly Problem[] => [
  ...withoutCollectors(policy, document),
  ...droppedKinds(policy, document),
  ...policy.heldKinds.flatMap((kind, index) => doubtfulKind(kind, ['heldKinds', index], document)),
  ...policy.keep.kinds.flatMap((kind, index) => doubtfulKind(kind, ['keep', 'kinds', index], document)),
  ...undoWarnings(policy, document),
  ...(policy.rules ?? []).flatMap((rule, index) => ruleWarnings(rule, ['rules', index], document)),
];

const withoutCollectors = (
  { mode, collectors, rules }: ClusterPolicy,
  document: YamlDocument,
): readonly Problem[] =>
  mode === 'dry-run' || collectors.length > 0 || rules !== undefined
    ? []
    : [
        problemAt(
          document,
          ['mode'],
          `${mode} does nothing here: collectors names none, and there are no rules`,
        ),
      ];

function undoWarnings({ undo, undoExcept = [] }: ClusterPolicy, document: YamlDocument): readonly Problem[] {
  const doubts = undoExcept.flatMap((kind, index) => doubtfulKind(kind, ['undoExcept', index], document));
  return undo === undefined && undoExcept.length > 0
    ? [
        problemAt(document, ['undoExcept'], 'does nothing here: without undo: manifest nothing is saved'),
        ...doubts,
      ]
    : doubts;
}

function droppedKinds({ heldKinds }: ClusterPolicy, document: YamlDocument): readonly Problem[] {
  const dropped = HELD_KINDS.filter((kind) => !heldKinds.includes(kind));
  return dropped.length === 0
    ? []
    : [
        problemAt(
          document,
          ['heldKinds'],
          `${dropped.join(', ')} ${dropped.length === 1 ? 'is' : 'are'} not held now: the list replaces the default as a whole`,
        ),
      ];
}

type Path = readonly (string | number)[];

/** What of a rule is valid and yet may not do what its author thinks. `path`: where the rule stands. */
const ruleWarnings = (rule: OwnRule, path: Path, document: YamlDocument): readonly Problem[] => [
  ...rule.kinds.flatMap((kind, index) => {
    const at = [...path, 'kinds', index];
    return [
      ...doubtfulKind(kind, at, document),
      ...forbidden(kind, at, document),
      ...running(kind, rule, at, document),
    ];
  }),
  ...rule.namespaces
    .map((namespace, index) => ({ namespace, at: [...path, 'namespaces', index] }))
    .filter(({ namespace }) => FORBIDDEN_NAMESPACES.test(namespace))
    .map(({ namespace, at }) => problemAt(document, at, `no rule deletes anything in ${namespace}`)),
];

function forbidden(kind: string, at: Path, document: YamlDocument): readonly Problem[] {
  const group = kind.slice(0, Math.max(0, kind.indexOf('/')));
  return FORBIDDEN_KINDS.includes(kind) || FORBIDDEN_GROUPS.includes(group)
    ? [problemAt(document, at, `no rule deletes any ${kind}`)]
    : [];
}

function running(
  kind: string,
  { states, afterMs }: OwnRule,
  at: Path,
  document: YamlDocument,
): readonly Problem[] {
  return afterMs === undefined || states !== undefined || endStatesOf(kind).length === 0
    ? []
    : [
        problemAt(
          document,
          at,
          `takes each ${kind} that is older than ${durationText(afterMs)}, whether it has ended or not; with states it takes those that ended`,
        ),
      ];
}

/** Kinds of the core group that can be deleted, as Kubernetes 1.34 serves them. */
const CORE_KINDS: ReadonlySet<string> = new Set([
  'ConfigMap',
  'Endpoints',
  'Event',
  'LimitRange',
  'Namespace',
  'Node',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'Pod',
  'PodTemplate',
  'ReplicationController',
  'ResourceQuota',
  'Secret',
  'Service',
  'ServiceAccount',
]);

/** Of a kind that is written as its resource is called, or without its group: nothing would be kept, held or taken by it. */
function doubtfulKind(
  kind: string,
  path: readonly (string | number)[],
  document: YamlDocument,
): readonly Problem[] {
  const doubt = doubtAbout(kind);
  return doubt === null ? [] : [problemAt(document, path, doubt)];
}

function doubtAbout(kind: string): string | null {
  const name = kind.slice(kind.indexOf('/') + 1);
  if (/^[a-z]/.test(name))
    return `${kind} looks like the name of a resource: kinds are written as in Pod or apps/Deployment`;
  if (kind.includes('/') || CORE_KINDS.has(kind)) return null;
  return `there is no ${kind} in the core group: other kinds are written with their group, as in batch/Job`;
}
