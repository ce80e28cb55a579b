import { type ListedNames, targetsByImage } from './image-targets.ts';
import type { ImageContent, KeptBlob } from './layer-store.ts';

type Ids = ReadonlySet<string>;

/** Listed images, by what of containerd's belongs to them; each lookup gives image ids. */
export interface ContentOwners {
  /** Of the index or manifest that a name of containerd means. */
  readonly ofName: (name: string) => Ids;
  /** Of an index, manifest or configuration: whoever holds it holds the image, and layers may be those of many. */
  readonly ofHead: (digest: string) => Ids;
  /** Of any blob, also of one that is not there. */
  readonly ofBlob: (digest: string) => Ids;
  /** Of the uppermost snapshot that an image was unpacked to. */
  readonly ofSnapshot: (snapshotter: string, name: string) => Ids;
  /** Whatever images were unpacked with. */
  readonly snapshotters: ReadonlySet<string>;
}

/** An image of which containerd has no name or no content owns nothing. */
export function contentOwners(listed: readonly ListedNames[], content: ImageContent): ContentOwners {
  const owned = { heads: new Owned(), blobs: new Owned(), snapshots: new Owned() };
  for (const [id, targets] of targetsByImage(listed, content)) {
    for (const digest of targets) owned.heads.add(digest, id);
    for (const digest of reachable(targets, content)) {
      owned.blobs.add(digest, id);
      addKept(owned, digest, content.blobs.get(digest) ?? NOTHING_KEPT, id);
    }
  }
  const targetOf = new Map(content.images.map(({ name, target }) => [name, target]));
  const snapshots = [...content.blobs.values()].flatMap((blob) => blob.snapshots);
  return {
    ofName: (name) => owned.heads.of(targetOf.get(name) ?? ''),
    ofHead: (digest) => owned.heads.of(digest),
    ofBlob: (digest) => owned.blobs.of(digest),
    ofSnapshot: (snapshotter, name) => owned.snapshots.of(snapshotKey(snapshotter, name)),
    snapshotters: new Set(snapshots.map(({ snapshotter }) => snapshotter)),
  };
}

type Kept = Pick<KeptBlob, 'content' | 'snapshots'>;
const NOTHING_KEPT: Kept = { content: [], snapshots: [] };

function addKept(
  { heads, snapshots }: Readonly<Record<'heads' | 'snapshots', Owned>>,
  digest: string,
  kept: Kept,
  id: string,
): void {
  if (kept.content.length + kept.snapshots.length > 0) heads.add(digest, id);
  for (const { snapshotter, name } of kept.snapshots) snapshots.add(snapshotKey(snapshotter, name), id);
}

const NOBODY: Ids = new Set();

class Owned {
  readonly #ids = new Map<string, Set<string>>();

  add(key: string, id: string): void {
    this.#ids.set(key, (this.#ids.get(key) ?? new Set<string>()).add(id));
  }

  of(key: string): Ids {
    return this.#ids.get(key) ?? NOBODY;
  }
}

const snapshotKey = (snapshotter: string, name: string): string => `${snapshotter} ${name}`;

/** The digests below these, and these. However deep they lie: what is added to a set while it is gone through is gone through too. */
function reachable(targets: readonly string[], { blobs }: ImageContent): ReadonlySet<string> {
  const found = new Set(targets);
  for (const digest of found) for (const below of blobs.get(digest)?.content ?? []) found.add(below);
  return found;
}
