import { sha256Hex } from '../../../packages/canonical/ids.ts';
import type { ContainerdHandlers, ContainerdMethodName } from '../../../packages/cri/containerd/server.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { Faults } from './faults.ts';
import { type ContentPiece, contentOf } from './image-content.ts';
import type { SimulatedImage } from './objects.ts';
import type { SimulatedRuntime } from './runtime.ts';

const SNAPSHOTTER = 'overlayfs';
/** Of manifests and configurations, which take next to nothing. */
const SMALL = '1000';
const PULL_LABEL = { 'containerd.io/distribution.source.registry.example': 'app' };
/** Of every blob: a pull creates none before what refers to it. */
const CREATED_AT = { seconds: '1767225600', nanos: 0 };

type Blob = Awaited<ReturnType<ContainerdHandlers['listContent']>>['info'][number];

/** containerd's own API over a simulated runtime, each method going wrong as the faults say. */
export function containerdHandlers(
  { images, otherContainers }: SimulatedRuntime,
  faults: Faults,
): ContainerdHandlers {
  const listed = (): SimulatedImage[] => [...images.values()];
  return {
    listStoredImages: meeting(faults, 'listStoredImages', async () => ({
      images: listed().flatMap((image) =>
        [image.id, ...image.repoTags, ...image.repoDigests].map((name) => ({
          name,
          target: { digest: manifestOf(image) },
        })),
      ),
    })),
    listContent: meeting(faults, 'listContent', async () => ({
      info: unique(listed().toSorted(pulledLast).flatMap(blobsOf), ({ digest }) => digest),
    })),
    listIngests: meeting(faults, 'listIngests', async () => ({ statuses: [] })),
    listStoredContainers: meeting(faults, 'listStoredContainers', async (_: object) =>
      [...otherContainers].map(([id, image]) => ({
        container: { id, image, snapshotter: '', snapshotKey: '' },
      })),
    ),
    listLeases: meeting(faults, 'listLeases', async () => ({ leases: [] })),
    listLeaseResources: meeting(faults, 'listLeaseResources', async () => ({ resources: [] })),
    listSnapshots: meeting(faults, 'listSnapshots', async ({ snapshotter }) => ({
      info:
        snapshotter === SNAPSHOTTER
          ? snapshotsOf(listed()).map(({ digest, parent }) => ({ name: digest, parent, kind: 'COMMITTED' }))
          : [],
    })),
    snapshotUsage: meeting(faults, 'snapshotUsage', async ({ key }) => {
      const snapshot = snapshotsOf(listed()).find(({ digest }) => digest === key);
      if (snapshot) return { size: String(snapshot.sizeBytes) };
      throw new FleetGcError('RUNTIME_NOT_FOUND', `snapshot ${key} does not exist: not found`);
    }),
  };
}

/** What a pull labelled stays so, whatever is imported beside it. */
const pulledLast = (a: SimulatedImage, b: SimulatedImage): number => Number(a.isPulled) - Number(b.isPulled);

const manifestOf = ({ id }: SimulatedImage): string => `sha256:${sha256Hex(`manifest of ${id}`)}`;

/** The manifest refers to the configuration and to the layers, and the configuration to the uppermost snapshot. */
function blobsOf(image: SimulatedImage): Blob[] {
  const content = contentOf(image);
  const layers = content.filter(({ kind }) => kind === 'blob');
  const snapshot = content.findLast(({ kind }) => kind === 'snapshot')?.digest ?? '';
  const references = [
    ['containerd.io/gc.ref.content.config', image.id],
    ...layers.map(({ digest }, index) => [`containerd.io/gc.ref.content.l.${index}`, digest]),
  ];
  const ofPull = image.isPulled ? PULL_LABEL : {};
  const ofManifest = image.hasPullLabel === true ? PULL_LABEL : {};
  const blobs = [
    { digest: manifestOf(image), size: SMALL, labels: { ...ofManifest, ...Object.fromEntries(references) } },
    { digest: image.id, size: SMALL, labels: { [`containerd.io/gc.ref.snapshot.${SNAPSHOTTER}`]: snapshot } },
    ...layers.map(({ digest, sizeBytes }) => ({ digest, size: String(sizeBytes), labels: {} })),
  ];
  return blobs.map((blob) => ({ ...blob, createdAt: CREATED_AT, labels: { ...ofPull, ...blob.labels } }));
}

const snapshotsOf = (images: readonly SimulatedImage[]): ContentPiece[] =>
  unique(
    images.flatMap(contentOf).filter(({ kind }) => kind === 'snapshot'),
    ({ digest }) => digest,
  );

const unique = <T>(items: readonly T[], keyOf: (item: T) => string): T[] => [
  ...new Map(items.map((item) => [keyOf(item), item])).values(),
];

function meeting<Request, Response>(
  faults: Faults,
  name: ContainerdMethodName,
  handle: (request: Request) => Promise<Response>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const fault = await faults.meet(name);
    if (fault?.kind === 'error') throw new FleetGcError('RUNTIME_FAILED', fault.message);
    const answer = await handle(request);
    await faults.answered(name);
    return answer;
  };
}
