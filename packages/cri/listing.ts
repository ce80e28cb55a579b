import pMap from 'p-map';
import { FleetGcError, toFleetGcError } from '../process/errors.ts';
import type {
  ListedContainer,
  ListedImage,
  ListedSandbox,
  Listing,
  ListingProblem,
  RuntimeLists,
} from './listing-types.ts';
import type { ImageLabels, RuntimeContainer, RuntimeImage, RuntimeReader, RuntimeSandbox } from './port.ts';

type ContainerFacts = Pick<ListedContainer, 'logPath' | 'mountedImages' | 'finishedAtNs'>;

/** Nothing of an exited container changes any more. */
interface KnownContainer extends ContainerFacts {
  readonly hasExited: boolean;
}

/** What never changes while an object lives, so that it is asked only once; of containers, once more when they ended. */
interface ListingMemory {
  readonly containers: Map<string, KnownContainer>;
  readonly sandboxImages: Map<string, string>;
  /** `null`: they are more than is read. */
  readonly imageLabels: Map<string, ImageLabels | null>;
}

export const createListingMemory = (): ListingMemory => ({
  containers: new Map(),
  sandboxImages: new Map(),
  imageLabels: new Map(),
});

/** Statuses asked at the same time. */
const STATUS_CONCURRENCY = 8;

/**
 * Lists images first and their users after, so that a container created meanwhile is seen and its image is not taken
 * for unused; sandboxes before containers for the same reason. Then lists again: any difference makes the listing
 * incomplete, and so does who uses images beside CRI when that cannot be read. One attempt; a failing runtime is a problem, not an error; `memory` saves the statuses of what was seen
 * before.
 */
export async function readListing(reader: RuntimeReader, memory = createListingMemory()): Promise<Listing> {
  try {
    return await read(reader, memory);
  } catch (error) {
    return { status: 'incomplete', problems: [problemOf(error)] };
  }
}

async function read(reader: RuntimeReader, memory: ListingMemory): Promise<Listing> {
  const { sandboxImage } = await reader.status();
  const lists = await readLists(reader);
  const problems = unbelievable(lists);
  if (problems.length > 0) return { status: 'incomplete', problems };
  const images = await withLabels(lists.images, reader, memory);
  const sandboxes = await withImages(lists.sandboxes, reader, memory);
  const containers = await withStatuses(lists.containers, reader, memory);
  if (fingerprint(lists) !== fingerprint(await readLists(reader))) throw changedMeanwhile();
  const idsInCri = new Set([...lists.sandboxes, ...lists.containers].map(({ id }) => id));
  const otherUses = (await reader.otherUses?.(lists.images, idsInCri)) ?? [];
  return {
    status: 'complete',
    images,
    containers,
    sandboxes,
    configuredSandboxImage: sandboxImage,
    otherUses,
  };
}

/** In the order that errs towards "in use". */
async function readLists(reader: RuntimeReader): Promise<RuntimeLists> {
  const images = await reader.listImages();
  const sandboxes = await reader.listSandboxes();
  const containers = await reader.listContainers();
  return { images, sandboxes, containers };
}

async function withLabels(
  images: readonly RuntimeImage[],
  reader: RuntimeReader,
  { imageLabels }: ListingMemory,
): Promise<ListedImage[]> {
  forgetOthers(imageLabels, images);
  return pMap(
    images,
    async (image) => {
      const known = imageLabels.get(image.id);
      const labels = known === undefined ? await readLabels(image.id, reader, imageLabels) : known;
      return { ...image, labels };
    },
    { concurrency: STATUS_CONCURRENCY },
  );
}

/** Whoever builds an image writes its labels, in whatever number: what is too much to be told is as good as not told (M11). */
async function readLabels(
  id: string,
  reader: RuntimeReader,
  known: ListingMemory['imageLabels'],
): Promise<ImageLabels | null> {
  try {
    const labels = await reader.imageLabels(id);
    if (labels !== null) known.set(id, labels);
    return labels;
  } catch (error) {
    if (toFleetGcError(error).code !== 'RUNTIME_ANSWER_TOO_LARGE') throw error;
    known.set(id, null);
    return null;
  }
}

async function withImages(
  sandboxes: readonly RuntimeSandbox[],
  reader: RuntimeReader,
  { sandboxImages }: ListingMemory,
): Promise<ListedSandbox[]> {
  forgetOthers(sandboxImages, sandboxes);
  return pMap(
    sandboxes,
    async (sandbox) => {
      const image = sandboxImages.get(sandbox.id) ?? (await reader.sandboxStatus(sandbox.id)).image;
      if (image !== '') sandboxImages.set(sandbox.id, image);
      return { ...sandbox, image };
    },
    { concurrency: STATUS_CONCURRENCY },
  );
}

async function withStatuses(
  containers: readonly RuntimeContainer[],
  reader: RuntimeReader,
  memory: ListingMemory,
): Promise<ListedContainer[]> {
  forgetOthers(memory.containers, containers);
  return pMap(
    containers,
    async (container) => {
      const known = memory.containers.get(container.id);
      const isCurrent = known !== undefined && (container.state !== 'exited' || known.hasExited);
      const { hasExited, ...facts } = isCurrent ? known : await containerFacts(reader, container.id);
      memory.containers.set(container.id, { ...facts, hasExited });
      return { ...container, ...facts };
    },
    { concurrency: STATUS_CONCURRENCY },
  );
}

async function containerFacts(reader: RuntimeReader, id: string): Promise<KnownContainer> {
  const { logPath, mountedImages, state, finishedAtNs } = await reader.containerStatus(id);
  const hasExited = state === 'exited';
  return { logPath, mountedImages, hasExited, finishedAtNs: hasExited ? finishedTime(finishedAtNs) : null };
}

/** Runtimes write no time as 0 or as a time before the epoch. */
const finishedTime = (finishedAtNs: bigint): bigint | null => (finishedAtNs > 0n ? finishedAtNs : null);

function forgetOthers(memory: Map<string, unknown>, listed: readonly { readonly id: string }[]): void {
  const ids = new Set(listed.map(({ id }) => id));
  for (const id of memory.keys()) if (!ids.has(id)) memory.delete(id);
}

/** Equal for lists that say the same, in whatever order. */
function fingerprint({ images, sandboxes, containers }: RuntimeLists): string {
  const rows = [
    ...images.map(({ id, repoTags, repoDigests, pinned }) => [
      'image',
      id,
      pinned,
      ...repoTags.toSorted(),
      ...repoDigests.toSorted(),
    ]),
    ...sandboxes.map(({ id, state }) => ['sandbox', id, state]),
    ...containers.map(({ id, state, imageId, imageRef }) => ['container', id, state, imageId, imageRef]),
  ];
  return rows
    .map((row) => JSON.stringify(row))
    .toSorted()
    .join('\n');
}

const changedMeanwhile = (): FleetGcError =>
  new FleetGcError('RUNTIME_NOT_FOUND', 'Images, containers or sandboxes changed while they were read.');

const UNREACHABLE = new Set(['RUNTIME_MISSING', 'RUNTIME_REFUSED', 'RUNTIME_TIMEOUT', 'RUNTIME_UNSUPPORTED']);

/** What was listed and is not found any more went away while we read. */
function problemOf(error: unknown): ListingProblem {
  if (!(error instanceof FleetGcError)) throw error;
  const { code, message } = error;
  if (code === 'RUNTIME_NOT_FOUND') return { code: 'runtime-changed-meanwhile', message };
  return { code: UNREACHABLE.has(code) ? 'runtime-unreachable' : 'runtime-partial', message };
}

/** What of the lists cannot be true, so that nothing may be concluded from any of them. */
function unbelievable(lists: RuntimeLists): ListingProblem[] {
  return [...duplicates(lists), ...outOfRange(lists), ...orphans(lists)];
}

function duplicates(lists: RuntimeLists): ListingProblem[] {
  return Object.entries(lists).flatMap(([kind, objects]: [string, readonly { readonly id: string }[]]) =>
    repeated(objects.map(({ id }) => id)).map(
      (id): ListingProblem => ({
        code: 'duplicate-ids',
        message: `The runtime lists the id ${id} twice among its ${kind}.`,
      }),
    ),
  );
}

function repeated(ids: readonly string[]): string[] {
  const seen = new Set<string>();
  const twice = ids.filter((id) => seen.size === seen.add(id).size);
  return [...new Set(twice)];
}

function outOfRange({ images, sandboxes, containers }: RuntimeLists): ListingProblem[] {
  const sizes = images
    .filter(({ sizeBytes }) => sizeBytes < 0n || sizeBytes > BigInt(Number.MAX_SAFE_INTEGER))
    .map(({ id, sizeBytes }) => `The runtime says that image ${id} has ${sizeBytes} bytes.`);
  const times = [...sandboxes, ...containers]
    .filter(({ createdAtNs }) => createdAtNs < 0n)
    .map(({ id, createdAtNs }) => `The runtime says that ${id} was created at ${createdAtNs} ns since 1970.`);
  return [...sizes, ...times].map((message) => ({ code: 'value-out-of-range', message }));
}

/** A container cannot run outside its sandbox: where one seems to, sandboxes are missing from the list. */
function orphans({ sandboxes, containers }: RuntimeLists): ListingProblem[] {
  const listed = new Set(sandboxes.map(({ id }) => id));
  return containers
    .filter(({ state, sandboxId }) => state === 'running' && !listed.has(sandboxId))
    .map(({ id, sandboxId }) => ({
      code: 'runtime-partial',
      message: `The runtime lists the running container ${id} but not its sandbox ${sandboxId}.`,
    }));
}
