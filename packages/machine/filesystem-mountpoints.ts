import type { FilesystemName } from '../../schemas/events/filesystem.ts';
import type { RuntimeImageFilesystems } from '../cri/port.ts';

export interface MountpointOptions {
  /** A path on the node's root filesystem: the kubelet's directory if there is one, else `/`. */
  readonly nodefs: string;
  /** Where images and containers lie, as the runtime says. */
  readonly imageFilesystems: () => Promise<RuntimeImageFilesystems>;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
}

export type Mountpoints = Readonly<Record<FilesystemName, string | null>>;

/** A runtime is rarely told to keep its images elsewhere, and never without a restart. */
const REFRESH_MS = 60_000;

/**
 * Where each filesystem is to be measured. The runtime is asked again every minute; while it does not answer, what it
 * said last holds, since a full disk is a common reason for its silence.
 */
export function createMountpoints({
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
