import { z } from 'zod';
import { rpcMethod as method, rpcServices } from '../rpc.ts';

/** CRI keeps everything of its own in this namespace of containerd. */
export const CRI_NAMESPACE = { 'containerd-namespace': 'k8s.io' } as const;

const serviceIn = (proto: string, fullName: string) => rpcServices(new URL(proto, import.meta.url))(fullName);

export const IMAGES_SERVICE = serviceIn('images.proto', 'containerd.services.images.v1.Images');
export const CONTENT_SERVICE = serviceIn('content.proto', 'containerd.services.content.v1.Content');
export const SNAPSHOTS_SERVICE = serviceIn('snapshots.proto', 'containerd.services.snapshots.v1.Snapshots');

/** Decimal digits on the wire. What no number of ours can hold is refused. */
const SizeWire = z.string().regex(/^\d+$/).transform(Number).pipe(z.int());

const ImagesWire = z.object({
  images: z.array(z.object({ name: z.string(), target: z.object({ digest: z.string() }).nullable() })),
});

const ContentWire = z.object({
  info: z.array(z.object({ digest: z.string(), size: SizeWire, labels: z.record(z.string(), z.string()) })),
});

const SnapshotsWire = z.object({ info: z.array(z.object({ name: z.string(), parent: z.string() })) });

/** What is read of containerd's own API, which is on the socket of CRI; there is nothing that changes anything. */
export const CONTAINERD_METHODS = {
  listStoredImages: method(IMAGES_SERVICE, 'List', z.object({}), ImagesWire),
  listContent: method(CONTENT_SERVICE, 'List', z.object({}), ContentWire),
  listSnapshots: method(SNAPSHOTS_SERVICE, 'List', z.object({ snapshotter: z.string() }), SnapshotsWire),
  snapshotUsage: method(
    SNAPSHOTS_SERVICE,
    'Usage',
    z.object({ snapshotter: z.string(), key: z.string() }),
    z.object({ size: SizeWire }),
  ),
} as const;
