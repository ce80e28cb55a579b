import { FleetGcError } from '../../process/errors.ts';
import type { OtherUse, OtherUses, RuntimeReader } from '../port.ts';
import {
  type ContainerdSource,
  type ImageContent,
  type KeptBlob,
  type ListedNames,
  readImageContent,
  targetsByImage,
} from './layer-store.ts';
import type { ContainerdReader, StoredContainer, StoredLease, StoredSnapshot } from './reader.ts';

/** Nobody waits longer for it in one look. */
const WITHIN_MS = 10_000;

/**
 * Who uses images in CRI's own namespace of containerd and is in no list of CRI: containers of other clients, leases,
 * snapshots that somebody writes or looks at, and pulls that run. A runtime that never had that API tells nothing; what
 * cannot be read of one that has it is an error.
 */
export function otherUsesIn(containerd: ContainerdReader, monotonicNow: () => number): OtherUses {
  let hasApi = false;
  return async (images, idsInCri) => {
    const untilMs = monotonicNow() + WITHIN_MS;
    const timeLeftMs = (): number => Math.max(1, untilMs - monotonicNow());
    try {
      const content = await readImageContent({ containerd, timeLeftMs });
      hasApi = true;
      return await read(contentOwners(images, content), { containerd, timeLeftMs }, idsInCri);
    } catch (error) {
      if (!hasApi && isWithoutApi(error)) return [];
      throw error;
    }
  };
}

/** A runtime that is also asked what containerd knows beside CRI; `null`: nobody is asked. */
export const withOtherUses = <Reader extends RuntimeReader>(
  runtime: Reader,
  containerd: ContainerdReader | null,
  { monotonicNow }: { readonly monotonicNow: () => number },
): Reader =>
  containerd === null ? runtime : { ...runtime, otherUses: otherUsesIn(containerd, monotonicNow) };

const isWithoutApi = (error: unknown): boolean =>
  error instanceof FleetGcError && error.code === 'RUNTIME_UNSUPPORTED';

async function read(
  owners: ContentOwners,
  { containerd, timeLeftMs }: ContainerdSource,
  idsInCri: ReadonlySet<string>,
): Promise<readonly OtherUse[]> {
  const leases = await containerd.leases(timeLeftMs());
  const ingests = await containerd.ingests(timeLeftMs());
  const containers = await containerd.otherContainers(timeLeftMs());
  const snapshots = new Map<string, readonly StoredSnapshot[]>();
  for (const name of new Set([...owners.snapshotters, ...containers.map((one) => one.snapshotter)]))
    if (name !== '') snapshots.set(name, await containerd.snapshots(name, timeLeftMs()));
  const chains = [...snapshots].map(([snapshotter, listed]) => new Chains(snapshotter, listed, owners));
  const counted = new Set([...idsInCri, ...containers.map(({ snapshotKey }) => snapshotKey)]);
  return [
    ...containers.map((container) => useOfContainer(container, chains, owners)),
    ...leases.map((lease) => useOfLease(lease, owners)),
    ...ingests.map((ref) => use('ingest', ref, digestsIn(ref).map(owners.ofBlob))),
    ...chains.flatMap((chain) => chain.inUse(counted)),
  ].filter(({ imageIds, references }) => imageIds.length + references.length > 0);
}

const use = (
  kind: OtherUse['user']['kind'],
  id: string,
  found: readonly ReadonlySet<string>[],
  references: readonly string[] = [],
): OtherUse => ({
  user: { kind, id },
  imageIds: [...new Set(found.flatMap((ids) => [...ids]))],
  references,
});

/** Its snapshot tells which image it runs on; its name tells it too, as far as the tag has not moved. */
function useOfContainer(
  { id, image, snapshotter, snapshotKey }: StoredContainer,
  chains: readonly Chains[],
  owners: ContentOwners,
): OtherUse {
  const below = chains.find((chain) => chain.snapshotter === snapshotter)?.below(snapshotKey);
  return use('container', id, [owners.ofName(image), below ?? new Set()], image === '' ? [] : [image]);
}

const SNAPSHOTS = 'snapshots/';

const useOfLease = ({ id, resources }: StoredLease, owners: ContentOwners): OtherUse =>
  use(
    'lease',
    id,
    resources.map(({ type, id: held }) =>
      type.startsWith(SNAPSHOTS)
        ? owners.ofSnapshot(type.slice(SNAPSHOTS.length), held)
        : owners.ofHead(held),
    ),
  );

/** Of `layer-sha256:…`, as clients of containerd name what they fetch. */
const digestsIn = (ref: string): readonly string[] => ref.match(/sha(256|512):[0-9a-f]{64,128}/g) ?? [];

/** The snapshots of one snapshotter, as they stand on each other. */
class Chains {
  readonly #parents: ReadonlyMap<string, string>;
  readonly snapshotter: string;
  readonly #snapshots: readonly StoredSnapshot[];
  readonly #owners: ContentOwners;

  constructor(snapshotter: string, snapshots: readonly StoredSnapshot[], owners: ContentOwners) {
    this.snapshotter = snapshotter;
    this.#snapshots = snapshots;
    this.#owners = owners;
    this.#parents = new Map(snapshots.map(({ name, parent }) => [name, parent]));
  }

  /** The images that the nearest snapshot below is the uppermost of. */
  below(top: string): ReadonlySet<string> {
    const seen = new Set<string>();
    for (let name = this.#parents.get(top) ?? ''; name !== '' && !seen.has(name); ) {
      const ids = this.#owners.ofSnapshot(this.snapshotter, name);
      if (ids.size > 0) return ids;
      // What names itself as its own ancestor has no end.
      seen.add(name);
      name = this.#parents.get(name) ?? '';
    }
    return new Set();
  }

  /** Those that somebody writes or looks at, beside what was counted. */
  inUse(counted: ReadonlySet<string>): readonly OtherUse[] {
    return this.#snapshots
      .filter(({ name, isInUse }) => isInUse && !counted.has(name))
      .map(({ name }) => use('snapshot', name, [this.below(name)]));
  }
}

type Ids = ReadonlySet<string>;

/** Listed images, by what of containerd's belongs to them; each lookup gives image ids. */
interface ContentOwners {
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
