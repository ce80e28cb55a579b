import { z } from 'zod';
import type { FilesystemName } from './filesystem.ts';

/** Kinds of objects that go, in the order of a pass: containers before their sandboxes, then logs, then images (G1, J21). */
export const ObjectKind = z.enum(['container', 'sandbox', 'pod-log-directory', 'log-symlink', 'image']);
export type ObjectKind = z.infer<typeof ObjectKind>;

/** What a command of one pass is called. */
export const RemovalKind = z.enum(['container-removal', 'image-removal']);
export type RemovalKind = z.infer<typeof RemovalKind>;

/** Who decides on what. */
export const DeciderName = z.enum(['pressure', 'container-gc', 'image-gc']);
export type DeciderName = z.infer<typeof DeciderName>;

/** Lists of an inventory whose entries are objects that go. */
export type ObjectList = 'containers' | 'sandboxes' | 'podLogDirectories' | 'logSymlinks' | 'images';

/** What differs by the kind of an object. */
interface KindRow {
  /** Its list in an inventory; verdicts name an object by its position there. */
  readonly list: ObjectList;
  /** The command that names it. */
  readonly removal: RemovalKind;
  /** Where it lies, and where its removal is measured outside of a reclaim. */
  readonly filesystem: z.infer<typeof FilesystemName>;
  readonly words: readonly [one: string, many: string];
}

/** The one table of kinds. Whatever else differs by kind is a `Record<ObjectKind, …>` or an exhaustive switch. */
export const OBJECT_KINDS = {
  container: {
    list: 'containers',
    removal: 'container-removal',
    filesystem: 'containerfs',
    words: ['container', 'containers'],
  },
  sandbox: {
    list: 'sandboxes',
    removal: 'container-removal',
    filesystem: 'containerfs',
    words: ['sandbox', 'sandboxes'],
  },
  'pod-log-directory': {
    list: 'podLogDirectories',
    removal: 'container-removal',
    filesystem: 'nodefs',
    words: ['pod log directory', 'pod log directories'],
  },
  'log-symlink': {
    list: 'logSymlinks',
    removal: 'container-removal',
    filesystem: 'nodefs',
    words: ['log symlink', 'log symlinks'],
  },
  image: {
    list: 'images',
    removal: 'image-removal',
    filesystem: 'imagefs',
    words: ['image', 'images'],
  },
} as const satisfies Readonly<Record<ObjectKind, KindRow>>;

/** What differs by the kind of a removal. */
interface RemovalRow {
  readonly decider: DeciderName;
  /** Where its effect is measured when its objects lie on several, and it is not part of a reclaim. */
  readonly filesystem: z.infer<typeof FilesystemName>;
}

export const REMOVALS = {
  'container-removal': { decider: 'container-gc', filesystem: 'containerfs' },
  'image-removal': { decider: 'image-gc', filesystem: 'imagefs' },
} as const satisfies Readonly<Record<RemovalKind, RemovalRow>>;

export const kindsOf = (removal: RemovalKind): readonly ObjectKind[] =>
  ObjectKind.options.filter((kind) => OBJECT_KINDS[kind].removal === removal);

/** Who decides on objects of this kind. */
export const deciderOf = (kind: ObjectKind): DeciderName => REMOVALS[OBJECT_KINDS[kind].removal].decider;

/** How often a node failed to remove an object, and until when (same clock as `takenAt`) it will not try again. */
export const Backoff = z.object({ failures: z.int().positive(), untilMs: z.int().nonnegative() });
