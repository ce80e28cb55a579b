import { z } from 'zod';
import { rpcMethod as method, rpcServices } from '../rpc.ts';

/** CRI keeps everything of its own in this namespace of containerd. */
export const CRI_NAMESPACE = { 'containerd-namespace': 'k8s.io' } as const;

const serviceIn = (proto: string, fullName: string) => rpcServices(new URL(proto, import.meta.url))(fullName);

export const IMAGES_SERVICE = serviceIn('images.proto', 'containerd.services.images.v1.Images');
export const CONTENT_SERVICE = serviceIn('content.proto', 'containerd.services.content.v1.Content');
export const CONTAINERS_SERVICE = serviceIn(
  'containers.proto',
  'containerd.services.containers.v1.Containers',
);
export const LEASES_SERVICE = serviceIn('leases.proto', 'containerd.services.leases.v1.Leases');
export const SNAPSHOTS_SERVICE = serviceIn('snapshots.proto', 'containerd.services.snapshots.v1.Snapshots');

/** Decimal digits on the wire. What no number of ours can hold is refused. */
const SizeWire = z.string().regex(/^\d+$/).transform(Number).pipe(z.int());

const ImagesWire = z.object({
  images: z.array(z.object({ name: z.string(), target: z.object({ digest: z.string() }).nullable() })),
});

const TimestampWire = z
  .object({ seconds: z.string().regex(/^-?\d+$/), nanos: z.int() })
  .transform(({ seconds, nanos }) => BigInt(seconds) * 1_000_000_000n + BigInt(nanos));

const ContentWire = z.object({
  info: z.array(
    z.object({
      digest: z.string(),
      size: SizeWire,
      createdAt: TimestampWire.nullable(),
      labels: z.record(z.string(), z.string()),
    }),
  ),
});

const StatusesWire = z.object({ statuses: z.array(z.object({ ref: z.string(), expected: z.string() })) });

const SnapshotsWire = z.object({
  info: z.array(z.object({ name: z.string(), parent: z.string(), kind: z.string() })),
});

const ContainerWire = z.object({
  container: z.object({
    id: z.string(),
    image: z.string(),
    snapshotter: z.string(),
    snapshotKey: z.string(),
  }),
});

const LeasesWire = z.object({ leases: z.array(z.object({ id: z.string() })) });

const ResourcesWire = z.object({ resources: z.array(z.object({ id: z.string(), type: z.string() })) });

/** What is read of containerd's own API, which is on the socket of CRI; there is nothing that changes anything. */
export const CONTAINERD_METHODS = {
  listStoredImages: method(IMAGES_SERVICE, 'List', z.object({}), ImagesWire),
  listContent: method(CONTENT_SERVICE, 'List', z.object({}), ContentWire),
  listIngests: method(CONTENT_SERVICE, 'ListStatuses', z.object({}), StatusesWire),
  listStoredContainers: method(
    CONTAINERS_SERVICE,
    'ListStream',
    z.object({ filters: z.array(z.string()) }),
    ContainerWire,
  ),
  listLeases: method(LEASES_SERVICE, 'List', z.object({}), LeasesWire),
  listLeaseResources: method(LEASES_SERVICE, 'ListResources', z.object({ id: z.string() }), ResourcesWire),
  listSnapshots: method(SNAPSHOTS_SERVICE, 'List', z.object({ snapshotter: z.string() }), SnapshotsWire),
  snapshotUsage: method(
    SNAPSHOTS_SERVICE,
    'Usage',
    z.object({ snapshotter: z.string(), key: z.string() }),
    z.object({ size: SizeWire }),
  ),
} as const;
