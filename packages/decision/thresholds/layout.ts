import type { FilesystemName, FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { ReclaimAction } from '../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';

/**
 * Where a node keeps what: all on one filesystem; images and writable layers together on their own; or images on their
 * own, and writable layers elsewhere.
 */
export type Layout = 'single' | 'dedicated' | 'split';

/**
 * The layout by the devices of one reading (J1, J2), and by no other: nothing is remembered, so a wrong reading is
 * corrected by the next (J3). `null` when a filesystem could not be read.
 */
export function layoutOf({ nodefs, imagefs, containerfs }: FilesystemReadings): Layout | null {
  if (nodefs === null || imagefs === null || containerfs === null) return null;
  if (imagefs.device === nodefs.device) return 'single';
  return imagefs.device === containerfs.device ? 'dedicated' : 'split';
}

const CONTAINERS: readonly ReclaimAction[] = ['containers'];
const IMAGES: readonly ReclaimAction[] = ['images'];
/** Containers first, since a dead one keeps its image in use (J21, M20). */
const BOTH: readonly ReclaimAction[] = ['containers', 'images'];

/** What frees space or inodes of a filesystem (J5, J7), in that order. */
const ACTIONS: Readonly<Record<Layout, Readonly<Record<FilesystemName, readonly ReclaimAction[]>>>> = {
  single: { nodefs: BOTH, imagefs: BOTH, containerfs: BOTH },
  dedicated: { nodefs: [], imagefs: BOTH, containerfs: BOTH },
  split: { nodefs: CONTAINERS, imagefs: IMAGES, containerfs: CONTAINERS },
};

/** Empty where garbage collection frees nothing. The logs of dead containers lie on nodefs in every layout (M25). */
export function actionsFor(
  layout: Layout,
  filesystem: FilesystemName,
  { profile }: Pick<Policy, 'profile'>,
): readonly ReclaimAction[] {
  const holdsLogsAlone = layout === 'dedicated' && filesystem === 'nodefs';
  return holdsLogsAlone && profile === 'fleetgc' ? CONTAINERS : ACTIONS[layout][filesystem];
}

/** The filesystem whose thresholds hold for containerfs too (J6). */
export const CONTAINERFS_LIKE: Readonly<Record<Layout, 'nodefs' | 'imagefs'>> = {
  single: 'nodefs',
  dedicated: 'imagefs',
  split: 'nodefs',
};
