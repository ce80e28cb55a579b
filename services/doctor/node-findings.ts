import type { RuntimeImageFilesystems, RuntimeStatus, RuntimeVersion } from '../../packages/cri/port.ts';
import { isImportingSocket } from '../../packages/cri/socket-path.ts';
import { importsLikePulls } from '../../packages/decision/inventory-checks.ts';
import type { LockHolder } from '../../packages/machine/lock-holders.ts';
import { LOW_STATE_BYTES } from '../../packages/machine/state-space.ts';
import type { KubeletFileReading } from '../../packages/policy/from-kubelet/from-kubelet.ts';
import { counted } from '../../packages/text/counted.ts';
import { printableLine } from '../../packages/text/printable.ts';
import { sizeText } from '../../packages/text/size-text.ts';
import type { FilesystemReading, FilesystemReadings } from '../../schemas/events/filesystem.ts';
import type { Policy } from '../../schemas/policy/policy.ts';
import { POLICY_DEFAULTS } from '../../schemas/policy/policy-defaults.ts';
import type { LocalFileOption, LocalRules } from '../node/executor/local-rules.ts';
import { type OtherRemover, removerText } from '../node/other-removers.ts';
import { type Finding, type Looked, ok, problem, skipped, warning } from './checks.ts';

export const userFinding = (uid: number | null): Finding =>
  uid === null || uid === 0
    ? ok('root')
    : warning(
        `user ${uid}`,
        'The node runs as root. Run this with sudo, or what follows may only be missing rights.',
      );

export interface NameFacts {
  readonly cluster: string;
  readonly node: string;
  readonly labels: Readonly<Record<string, string>>;
}

export function nameFinding(name: Looked<NameFacts>): Finding {
  if (!name.ok) return problem(name.error.message, 'The node does not start so: correct these settings.');
  const { cluster, node, labels } = name.value;
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return ok(`${cluster}/${node}, ${pairs.length === 0 ? 'without labels' : `labels ${pairs.join(', ')}`}`);
}

export const machineIdFinding = (file: string, id: Looked<string>): Finding =>
  id.ok
    ? ok(`${file} holds one`)
    : problem(
        id.error.message,
        'The node does not start without one: it tells this machine from a copy of its disk. See --machine-id-file.',
      );

export interface DirectoryFacts {
  readonly path: string;
  readonly state: 'usable' | 'missing' | 'no-directory' | 'not-writable' | 'not-readable';
  /** What the system says of a directory that cannot be read or written. */
  readonly why?: string;
}

export function podLogsFinding(directories: readonly DirectoryFacts[]): Finding {
  const wrong = directories.filter(({ state }) => state !== 'usable' && state !== 'not-writable');
  const paths = directories.map(({ path }) => path).join(' and ');
  if (wrong.length === 0) return ok(`${paths} can be read`);
  return warning(
    wrong.map(stateText).join('; '),
    'Where no kubelet runs that is as it should be. Else name the directories of its configuration with --pod-logs-dir and --container-logs-dir.',
  );
}

const stateText = ({ path, state, why }: DirectoryFacts): string =>
  `${path} ${STATES[state]}${why === undefined ? '' : `: ${why}`}`;

const STATES: Readonly<Record<DirectoryFacts['state'], string>> = {
  usable: 'can be used',
  missing: 'is not there',
  'no-directory': 'is no directory',
  'not-writable': 'cannot be written',
  'not-readable': 'cannot be read',
};

export interface StateFacts extends DirectoryFacts {
  /** Of its filesystem; `null` where it cannot be measured. */
  readonly availableBytes: bigint | null;
  readonly files: number;
  /** The history of images, which the agent keeps. */
  readonly history: Looked<unknown>;
}

/** What the files of a node take, and what "fleetgc run" needs beside them. */
const LEAST_BYTES = 10_000_000n;
const ROOM_BYTES = 50_000_000n;

export function stateDirectoryFinding(facts: StateFacts): Finding {
  const { path, state, availableBytes, files, history } = facts;
  if (state === 'missing')
    return warning(
      `${path} is not there`,
      'The first start makes it. If FleetGC has run here, --state-directory names another place.',
    );
  if (state !== 'usable')
    return problem(
      stateText(facts),
      'The node has to read and write it: run it as root, or name another place with --state-directory.',
    );
  if (!history.ok)
    return problem(
      history.error.message,
      'docs/operating/troubleshoot.md#the-state-directory-is-lost-or-unreadable says what to do.',
    );
  const room = availableBytes === null ? 'of unknown room' : `${sizeText(availableBytes)} available`;
  const seen = `${path}, ${counted(files, 'file')}, ${room}`;
  if (availableBytes !== null && files === 0 && availableBytes < LEAST_BYTES)
    return problem(
      seen,
      'The first start needs 10 MB there: make room, or name another place with --state-directory.',
    );
  if (availableBytes !== null && availableBytes < ROOM_BYTES)
    return warning(
      seen,
      'Make room there: "fleetgc run" needs 50 MB, and what does not fit is not remembered over a restart.',
    );
  if (availableBytes !== null && availableBytes < BigInt(LOW_STATE_BYTES))
    return warning(
      seen,
      'Make room there before it is full: then nothing new is remembered over a restart, and the event log of "fleetgc run" loses its oldest records.',
    );
  return ok(seen);
}

interface LockFacts {
  readonly holders: Looked<readonly LockHolder[]>;
  /** Who removes through the same runtime with another state directory. */
  readonly others: readonly OtherRemover[];
}

export function stateLockFinding(path: string, { holders, others }: LockFacts): Finding {
  if (!holders.ok) return skipped(`Who holds the locks cannot be seen: ${holders.error.message}`);
  const roles = (['agent', 'executor'] as const).map((role) => ({
    role,
    holder: holders.value.find((each) => each.role === role),
  }));
  const seen = [
    ...roles.map(
      ({ role, holder }) =>
        `${role}: ${holder === undefined ? 'nobody' : `process ${holder.pid} ${holder.command}`.trim()}`,
    ),
    ...others.map((other) => `another executor on this runtime: process ${removerText(other)}`),
  ].join('; ');
  if (others.length > 0)
    return warning(
      seen,
      `Run one executor for each container runtime: neither knows what the other removed. If the other one is meant, give its --state-directory here in place of ${path}.`,
    );
  if (roles.every(({ holder }) => holder !== undefined)) return ok(seen);
  return warning(
    seen,
    `No process works with ${path} in that role, as far as this one can see. If FleetGC is to run here, start it (fleetgc node, or fleetgc run); in a container of its own it may be hidden from here.`,
  );
}

/** `rules`: `null` where there is no file. */
export function localFileFinding({ path, isNamed }: LocalFileOption, rules: LocalRules | null): Finding {
  if (rules === null)
    return isNamed
      ? problem(
          `${path} is named by --local-file and is missing`,
          'Put it back, or write {} into it: until then nothing is removed here.',
        )
      : ok(`there is no ${path}, so the node restricts nothing`);
  if (rules.kind === 'held')
    return problem(rules.message, 'Nothing is removed here until that is corrected.');
  if (rules.hold)
    return warning(`${path} says hold: true`, 'Nothing is removed here until it says hold: false.');
  const limits = [
    ...(rules.keepPatterns.length === 0
      ? []
      : [counted(rules.keepPatterns.length, 'pattern of images that stay', 'patterns of images that stay')]),
    ...(rules.maxRemovalsPerHour === null
      ? []
      : [`at most ${counted(rules.maxRemovalsPerHour, 'removal')} an hour`]),
  ];
  return ok(`${path}: ${limits.length === 0 ? 'restricts nothing' : limits.join(', ')}`);
}

export interface RuntimeFacts {
  readonly endpoint: string;
  readonly version: RuntimeVersion;
  readonly status: RuntimeStatus;
}

/** Of each runtime that FleetGC is tested with: the oldest that it works with. */
const TESTED: ReadonlyMap<string, readonly [major: number, minor: number]> = new Map([
  ['containerd', [1, 6]],
  ['cri-o', [1, 34]],
]);

const NOT_REACHED =
  'Nothing is removed while the runtime does not answer (docs/operating/install.md#the-container-runtime).';

export function runtimeFinding(facts: Looked<RuntimeFacts>): Finding {
  if (!facts.ok) return problem(facts.error.message, NOT_REACHED);
  const { endpoint, version, status } = facts.value;
  const seen = `${version.name} ${version.version}, CRI ${version.apiVersion}, at ${endpoint}`;
  if (!status.runtimeReady)
    return problem(
      `${seen}, says that it is not ready`,
      'Look at the logs of the runtime: crictl info says why.',
    );
  const oldest = TESTED.get(version.name);
  if (oldest === undefined)
    return warning(seen, 'FleetGC is tested with containerd and CRI-O. Begin with a policy in mode dry-run.');
  if (!isAtLeast(version.version, oldest))
    return warning(seen, `FleetGC is tested with ${version.name} ${oldest.join('.')} and later: update it.`);
  return ok(seen);
}

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [, ownMajor, ownMinor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  if (ownMajor === undefined || ownMinor === undefined) return false;
  return Number(ownMajor) > major || (Number(ownMajor) === major && Number(ownMinor) >= minor);
}

/** `asked`: whether containerd's own API is to be asked at all. */
export function imageLayersFinding(
  asked: boolean,
  { images, runtime }: { readonly images: Looked<number>; readonly runtime: Looked<RuntimeFacts> },
): Finding {
  if (runtime.ok && importsLookPulled(runtime.value)) return importsFinding(runtime.value);
  if (!asked) return skipped('--no-image-layers is given, so containerd’s own API is not asked.');
  if (!runtime.ok) return skipped('The runtime does not answer; see runtime.');
  if (images.ok)
    return ok(`containerd tells ${counted(images.value, 'name of an image', 'names of images')}`);
  return images.error.code === 'RUNTIME_UNSUPPORTED'
    ? WITHOUT_LAYERS
    : warning(images.error.message, NOT_TOLD);
}

const importsLookPulled = ({ endpoint, version }: RuntimeFacts): boolean =>
  isImportingSocket(endpoint) || importsLikePulls(version.version);

const importsFinding = ({ endpoint, version }: RuntimeFacts): Finding =>
  warning(
    `${version.name} ${version.version} at ${endpoint} is the containerd of K3s or RKE2: FleetGC cannot tell the images that they import from pulled ones`,
    'By default FleetGC keeps every image of this node (M12). Name the imported images in keep.images, then set keep.unpullable: false (docs/operating/runtimes.md).',
  );

const NOT_TOLD = 'Plans count listed sizes, and nobody knows which images were pulled.';
const WITHOUT_LAYERS = warning(
  'the runtime has no API of containerd beside CRI',
  `${NOT_TOLD} Keep by name what was built or loaded on this node (docs/operating/runtimes.md), then say --no-image-layers.`,
);

export interface DiskFacts {
  readonly readings: FilesystemReadings;
  readonly named: RuntimeImageFilesystems;
  /** A sentence for each that cannot be measured. */
  readonly unmeasured: readonly string[];
}

const FULL_PERCENT = 95;
const NOT_MEASURED =
  'Nothing goes for the sake of space that cannot be measured. Mount the path that the runtime names into the container of the agent; on the node see that the filesystem answers.';

export function filesystemsFinding(facts: Looked<DiskFacts>): Finding {
  if (!facts.ok) return skipped('The runtime does not say where its images are; see runtime.');
  const { readings, named, unmeasured } = facts.value;
  const lines = (['nodefs', 'imagefs', 'containerfs'] as const).map((name) => ({
    name,
    reading: readings[name],
  }));
  const seen = lines.map(({ name, reading }) => `${name} ${readingText(reading)}`).join('; ');
  if (lines.some(({ reading }) => usedPercent(reading) === null))
    return problem(
      [`${seen} (images are at ${mountpointsOf(named)})`, ...unmeasured].join('. '),
      NOT_MEASURED,
    );
  if (lines.some(({ reading }) => (usedPercent(reading) ?? 0) >= FULL_PERCENT))
    return warning(seen, 'fleetgc plan says what would go, and what holds the space.');
  return ok(seen);
}

const mountpointsOf = ({ image }: RuntimeImageFilesystems): string =>
  image.length === 0 ? 'no place that it names' : image.map(({ mountpoint }) => mountpoint).join(', ');

function usedPercent(reading: FilesystemReading | null): number | null {
  if (reading === null || reading.capacityBytes === null || reading.availableBytes === null) return null;
  const [capacity, available] = [BigInt(reading.capacityBytes), BigInt(reading.availableBytes)];
  return capacity === 0n ? null : 100 - Number((available * 100n) / capacity);
}

function readingText(reading: FilesystemReading | null): string {
  const used = usedPercent(reading);
  if (used === null || reading?.availableBytes == null) return 'cannot be measured';
  return `${used} % used, ${sizeText(BigInt(reading.availableBytes))} available at ${reading.mountpoint}`;
}

export interface PodFacts {
  readonly pods: number;
  /** Whether the kubelet knows a pod from each source that is configured. */
  readonly haveDelivered: boolean;
  readonly sources: readonly string[];
  /** What a proxy before the kubelet calls itself; `null` where none does. */
  readonly proxy: string | null;
}

/** `null`: no kubelet is configured. */
export function kubeletFinding(url: string | undefined, facts: Looked<PodFacts> | null): Finding {
  if (url === undefined || facts === null)
    return skipped('Without --kubelet-url no pod counts as deleted, and what belongs to one stays.');
  if (!facts.ok)
    return problem(
      facts.error.message,
      'Check URL, certificate or token, and the right to list pods (docs/operating/install.md#the-kubelets-pods).',
    );
  const { pods, haveDelivered, sources, proxy } = facts.value;
  const seen = `${url} tells ${counted(pods, 'pod')}`;
  if (proxy !== null)
    return warning(
      `${seen}, and a proxy answers for the kubelet (${printableLine(proxy).slice(0, 80)})`,
      'No pod counts as deleted while the proxy closes idle connections within 10 s: name the kubelet itself, or let the proxy keep idle connections for a minute (docs/operating/install.md#the-kubelets-pods).',
    );
  if (haveDelivered) return ok(seen);
  return warning(
    `${seen}, and none from each of its sources (${sources.join(', ')})`,
    'Until each source has a pod, no pod counts as deleted. See --pod-sources.',
  );
}

/** `policy`: the one in force for this node, as far as somebody knows. */
export function kubeletSettingsFinding(
  path: string,
  text: Looked<string | null>,
  { read, policy }: { readonly read: (text: string) => KubeletFileReading; readonly policy: Policy | null },
): Finding {
  if (!text.ok) return skipped(`${path} cannot be read: ${text.error.message}`);
  if (text.value === null) return skipped(`There is no ${path}; --kubelet-config-file names another one.`);
  const reading = read(text.value);
  if (!reading.valid)
    return warning(
      `${path} is not a configuration that a kubelet of today takes: ${reading.problems[0]?.message ?? ''}`,
      'fleetgc policy from-kubelet names each of its problems.',
    );
  const { imageGCHighThresholdPercent, imageMaximumGCAge } = reading.configuration.settings;
  const high = imageGCHighThresholdPercent ?? POLICY_DEFAULTS.imageGCHighThresholdPercent;
  const seen = `${path}: the kubelet begins to remove images at ${high} %`;
  const byAge = imageMaximumGCAge !== undefined && !/^0[a-z]*$/.test(imageMaximumGCAge);
  if (byAge)
    return warning(
      `${seen}, and those that are unused for ${imageMaximumGCAge}`,
      'What the kubelet removes by age no policy of FleetGC keeps: leave imageMaximumGCAge at 0s.',
    );
  if (policy === null) return ok(seen);
  const own = policy.imageGCHighThresholdPercent;
  if (own < high) return ok(`${seen}, and FleetGC at ${own} %`);
  return warning(
    `${seen}, and FleetGC at ${own} % by the policy ${policy.name}`,
    'FleetGC should begin first: take a lower imageGCHighThresholdPercent in the policy (docs/operating/install.md#beside-the-kubelets-own-collector).',
  );
}
