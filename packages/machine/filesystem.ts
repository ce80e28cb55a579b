import type { BigIntStats, BigIntStatsFs } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type {
  FilesystemName,
  FilesystemReading,
  FilesystemReadings,
} from '../../schemas/events/filesystem.ts';
import type { RuntimeImageFilesystems } from '../cri/port.ts';
import { unreadableReason } from '../process/options/named-file.ts';

/** Measures the node's filesystems. On a real node `statfs`; on a simulated one the disk of the simulation. */
export interface FilesystemReader {
  /** A filesystem that cannot be read is `null`; this never rejects. */
  read(): Promise<FilesystemReadings>;
}

interface MountpointOptions {
  /** A path on the node's root filesystem: the kubelet's directory if there is one, else `/`. */
  readonly nodefs: string;
  /** Where images and containers lie, as the runtime says. */
  readonly imageFilesystems: () => Promise<RuntimeImageFilesystems>;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** Takes, whenever it changes, a sentence for each filesystem that cannot be measured: its path and the cause. */
  readonly onUnmeasured?: (problems: readonly string[]) => void;
}

export interface StatfsOptions extends MountpointOptions {
  /** Where the node's `/` is mounted in a container; `/` on the node itself. */
  readonly hostRoot: string;
}

/**
 * A network filesystem without its server answers never; a reading is then missing instead of late.
 * @limit Timeout of one statfs call. Without a sample nothing is removed.
 */
const DEADLINE_MS = 2_000;
const UINT64_MAX = 2n ** 64n - 1n;

/** Measures by statfs. What cannot be read within 2 s is `null`. */
export function createStatfsReader(options: StatfsOptions): FilesystemReader {
  const mountpoints = createMountpoints(options);
  const read = readerOfPath(options.hostRoot);
  let reported = '';
  return {
    read: async () => {
      const places = await mountpoints();
      const measured = async (name: FilesystemName): Promise<Measured> => {
        const place = places[name];
        return 'path' in place ? read(place.path) : place;
      };
      const [nodefs, imagefs, containerfs] = await Promise.all([
        measured('nodefs'),
        measured('imagefs'),
        measured('containerfs'),
      ]);
      const problems = Object.entries({ nodefs, imagefs, containerfs }).flatMap(([name, one]) =>
        'problem' in one ? [`The filesystem ${name} cannot be measured: ${one.problem}`] : [],
      );
      if (problems.join() !== reported) options.onUnmeasured?.(problems);
      reported = problems.join();
      return { nodefs: readingIn(nodefs), imagefs: readingIn(imagefs), containerfs: readingIn(containerfs) };
    },
  };
}

/** What there is to measure, or why nothing is. */
interface Unmeasured {
  readonly problem: string;
}
type Measured = FilesystemReading | Unmeasured;

const readingIn = (measured: Measured): FilesystemReading | null => ('problem' in measured ? null : measured);

/** One call per path at a time: a call that hangs holds a thread, and a second would hold another. */
function readerOfPath(hostRoot: string): (path: string) => Promise<Measured> {
  const hanging = new Map<string, Promise<Measured>>();
  return (path) => {
    const running = hanging.get(path) ?? measure(hostRoot, path).finally(() => hanging.delete(path));
    hanging.set(path, running);
    return orLate(running, path);
  };
}

async function measure(hostRoot: string, path: string): Promise<Measured> {
  const at = join(hostRoot, path);
  try {
    const [stats, { dev }] = await Promise.all([statfs(at, { bigint: true }), stat(at, { bigint: true })]);
    return readingOf(path, stats, dev);
  } catch (error) {
    const why = unreadableReason(error);
    return { problem: `${at} cannot be read (${why}). ${SEE_PATH}` };
  }
}

const SEE_PATH =
  'Check that the path exists on the node and, in a container, that it is mounted there (docs/operating/install.md).';

/** statfs in the schema's words. A filesystem without inode accounting (btrfs) reports none at all: `null`, not zero. */
export function readingOf(
  mountpoint: string,
  { blocks, bavail, bsize, files, ffree }: BigIntStatsFs,
  dev: BigIntStats['dev'],
): FilesystemReading {
  const countsInodes = files > 0n;
  return {
    mountpoint,
    device: String(dev),
    capacityBytes: uint64(blocks * bsize),
    availableBytes: uint64(bavail * bsize),
    inodes: countsInodes ? uint64(files) : null,
    inodesFree: countsInodes ? uint64(ffree) : null,
  };
}

const uint64 = (value: bigint): string | null => (value < 0n || value > UINT64_MAX ? null : String(value));

function orLate(running: Promise<Measured>, path: string): Promise<Measured> {
  const { promise, resolve } = Promise.withResolvers<Measured>();
  const problem = `${path} does not answer within ${DEADLINE_MS / 1000} s. Check the disk, or the server of a network filesystem.`;
  const timer = setTimeout(resolve, DEADLINE_MS, { problem });
  return Promise.race([running, promise]).finally(() => clearTimeout(timer));
}

type Place = { readonly path: string } | Unmeasured;
type Mountpoints = Readonly<Record<FilesystemName, Place>>;

/** A runtime is rarely told to keep its images elsewhere, and never without a restart. */
const REFRESH_MS = 60_000;

/**
 * Where each filesystem is to be measured. The runtime is asked again every minute; while it does not answer, what it
 * said last holds, since a full disk is a common reason for its silence.
 */
function createMountpoints({
  nodefs,
  imageFilesystems,
  nowMs,
}: MountpointOptions): () => Promise<Mountpoints> {
  const ofNode: Place = { path: nodefs };
  const unknown = (why: string): Mountpoints => {
    const problem = `the runtime does not say where it is: ${why}`;
    return { nodefs: ofNode, imagefs: { problem }, containerfs: { problem } };
  };
  let known: Mountpoints = unknown('it has not answered yet.');
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | null = null;

  const ask = async (): Promise<void> => {
    try {
      const { image, container } = await imageFilesystems();
      const imagefs = placeOf(image[0], 'images');
      known = {
        nodefs: ofNode,
        imagefs,
        containerfs: isNamed(container[0]) ? placeOf(container[0], 'containers') : imagefs,
      };
      askedAtMs = nowMs();
    } catch (error) {
      // What was known stays; the next reading asks again.
      if (!('path' in known.imagefs)) known = unknown(error instanceof Error ? error.message : String(error));
    } finally {
      asking = null;
    }
  };

  return async () => {
    if (nowMs() - askedAtMs >= REFRESH_MS) asking ??= ask();
    if (!('path' in known.imagefs)) await asking;
    return known;
  };
}

type Named = { readonly mountpoint: string } | undefined;

/** Older runtimes name no container filesystem: it is that of the images, as the kubelet takes it. */
const isNamed = (filesystem: Named): boolean => filesystem !== undefined && filesystem.mountpoint !== '';

/** A relative path would be looked up in whatever directory this process was started in. */
function placeOf(filesystem: Named, what: string): Place {
  if (filesystem === undefined)
    return { problem: `the runtime lists no filesystem of its ${what} (ImageFsInfo). ${SEE_RUNTIME}` };
  const { mountpoint } = filesystem;
  if (mountpoint === '')
    return {
      problem: `the runtime lists a filesystem of its ${what} without a path (ImageFsInfo). ${SEE_RUNTIME}`,
    };
  if (!isAbsolute(mountpoint))
    return {
      problem: `the runtime lists the relative path "${mountpoint}" for its ${what} (ImageFsInfo). ${SEE_RUNTIME}`,
    };
  return { path: mountpoint };
}

const SEE_RUNTIME =
  'Check the configuration of the runtime and of its snapshotter: crictl imagefsinfo shows the same.';
