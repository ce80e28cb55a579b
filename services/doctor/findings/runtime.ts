import type { RuntimeImageFilesystems, RuntimeStatus, RuntimeVersion } from '../../../packages/cri/port.ts';
import { isImportingSocket } from '../../../packages/cri/socket-path.ts';
import { importsLikePulls } from '../../../packages/decision/importing-runtimes.ts';
import { counted } from '../../../packages/text/counted.ts';
import { sizeText } from '../../../packages/text/size-text.ts';
import type { FilesystemReading, FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import { type Finding, type Looked, ok, problem, skipped, warning } from '../finding.ts';

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
