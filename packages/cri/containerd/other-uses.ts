import { FleetGcError } from '../../process/errors.ts';
import type { OtherUse, OtherUses, RuntimeReader } from '../port.ts';
import { type ContentOwners, contentOwners } from './content-owners.ts';
import { type ContainerdSource, readImageContent } from './layer-store.ts';
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
