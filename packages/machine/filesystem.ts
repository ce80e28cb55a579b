import type { BigIntStats, BigIntStatsFs } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type {
  FilesystemName,
  FilesystemReading,
  FilesystemReadings,
} from '../../schemas/events/filesystem.ts';
import type { RuntimeImageFilesystems } from '../cri/port.ts';

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
}

export interface StatfsOptions extends MountpointOptions {
  /** Where the node's `/` is mounted in a container; `/` on the node itself. */
  readonly hostRoot: string;
}

/** A network filesystem without its server answers never; a reading is then missing instead of late. */
const DEADLINE_MS = 2_000;
const UINT64_MAX = 2n ** 64n - 1n;

/** Measures by statfs. What cannot be read within 2 s is `null`. */
export function createStatfsReader(options: StatfsOptions): FilesystemReader {
  const mountpoints = createMountpoints(options);
  const read = readerOfPath(options.hostRoot);
  return {
    read: async () => {
      const paths = await mountpoints();
      const [nodefs, imagefs, containerfs] = await Promise.all(
        (['nodefs', 'imagefs', 'containerfs'] satisfies FilesystemName[]).map((name) => read(paths[name])),
      );
      return { nodefs: nodefs ?? null, imagefs: imagefs ?? null, containerfs: containerfs ?? null };
    },
  };
}

/** One call per path at a time: a call that hangs holds a thread, and a second would hold another. */
function readerOfPath(hostRoot: string): (path: string | null) => Promise<FilesystemReading | null> {
  const hanging = new Map<string, Promise<FilesystemReading | null>>();
  return (path) => {
    if (path === null) return Promise.resolve(null);
    const running = hanging.get(path) ?? measure(hostRoot, path).finally(() => hanging.delete(path));
    hanging.set(path, running);
    return orNullAfterDeadline(running);
  };
}

async function measure(hostRoot: string, path: string): Promise<FilesystemReading | null> {
  const at = join(hostRoot, path);
  try {
    const [stats, { dev }] = await Promise.all([statfs(at, { bigint: true }), stat(at, { bigint: true })]);
    return readingOf(path, stats, dev);
  } catch {
    return null;
  }
}

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

function orNullAfterDeadline<T>(running: Promise<T>): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(resolve, DEADLINE_MS, null);
  return Promise.race([running, promise]).finally(() => clearTimeout(timer));
}

type Mountpoints = Readonly<Record<FilesystemName, string | null>>;

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
  let known: Mountpoints = { nodefs, imagefs: null, containerfs: null };
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | null = null;

  const ask = async (): Promise<void> => {
    try {
      const { image, container } = await imageFilesystems();
      const imagefs = pathOf(image[0]);
      known = { nodefs, imagefs, containerfs: pathOf(container[0]) ?? imagefs };
      askedAtMs = nowMs();
    } catch {
      // What was known stays; the next reading asks again.
    } finally {
      asking = null;
    }
  };

  return async () => {
    if (nowMs() - askedAtMs >= REFRESH_MS) asking ??= ask();
    if (known.imagefs === null) await asking;
    return known;
  };
}

/** Older runtimes name no container filesystem: it is that of the images, as the kubelet takes it. */
const pathOf = (filesystem: { readonly mountpoint: string } | undefined): string | null =>
  filesystem === undefined || filesystem.mountpoint === '' ? null : filesystem.mountpoint;
