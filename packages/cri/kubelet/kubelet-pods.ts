import { z } from 'zod';
import { FleetGcError } from '../../process/errors.ts';
import { type KubeletConnection, type KubeletOptions, kubeletConnection } from './kubelet-connection.ts';
import type { KubeletPod, PodListing, PodSource } from './pod-source.ts';

/**
 * Asks the kubelet for /pods. A kubelet does not say which process it is, but one TCP connection has one process at its
 * end: the instance is the connection, which is kept open between calls. One that breaks counts as a restart, which only
 * ever keeps more. Rejects with `PODS_UNREADABLE`; the next call then begins with a new connection.
 */
export function kubeletPodSource(options: KubeletOptions): PodSource & Disposable {
  let sockets = 0;
  let connection: KubeletConnection | null = null;
  const drop = (): void => {
    connection?.[Symbol.dispose]();
    connection = null;
  };
  return {
    list: async () => {
      try {
        connection ??= kubeletConnection(options, () => sockets++);
        const { body, socket, proxy } = await connection.get('/pods');
        const listing = podListingIn(body, `connection-${socket}`);
        return proxy === null ? listing : { ...listing, proxy };
      } catch (cause) {
        drop();
        throw unreadable(options, cause);
      }
    },
    [Symbol.dispose]: drop,
  };
}

/** The pods in an answer to /pods. Throws a plain error that says what is wrong with it. */
export function podListingIn(body: string, kubeletInstance: string): PodListing {
  const parsed = KubeletPodList.safeParse(JSON.parse(body));
  if (parsed.success) return { kubeletInstance, pods: podsIn(parsed.data) };
  throw new Error(`its answer is no list of pods: ${z.prettifyError(parsed.error).replaceAll('\n', ' ')}`);
}

const unreadable = ({ url }: KubeletOptions, cause: unknown): FleetGcError =>
  new FleetGcError(
    'PODS_UNREADABLE',
    `cannot read the pods from the kubelet at ${url}, so nothing of a deleted pod is removed: ${messageOf(cause)}`,
    { cause },
  );

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const Container = z.object({ name: z.string().optional(), image: z.string().optional() });
const Containers = z.array(Container).nullish();
/** One without a name could be any container of its pod (M28). */
const InitContainers = z.array(Container.extend({ name: z.string().min(1) })).nullish();

/** What we read of a pod as the Kubernetes API writes it; empty fields are left out there. */
const Pod = z.object({
  metadata: z.object({
    uid: z.string().min(1),
    name: z.string(),
    namespace: z.string(),
    deletionTimestamp: z.string().nullish(),
    annotations: z.record(z.string(), z.string()).nullish(),
  }),
  spec: z.object({
    containers: Containers,
    initContainers: InitContainers,
    ephemeralContainers: Containers,
    volumes: z.array(z.object({ image: z.object({ reference: z.string().optional() }).nullish() })).nullish(),
  }),
  status: z.object({ phase: z.string().optional(), reason: z.string().optional() }).nullish(),
});

/** The kubelet's answer to /pods. Go writes an empty list as `null`. */
const KubeletPodList = z.object({
  kind: z.literal('PodList'),
  items: z.array(Pod).nullable(),
});
type KubeletPodList = z.infer<typeof KubeletPodList>;

/** What the kubelet's eviction manager writes, and nobody else. */
const EVICTED = 'Evicted';

const podsIn = ({ items }: KubeletPodList): KubeletPod[] => (items ?? []).map(podOf);

function podOf({ metadata, spec, status }: z.infer<typeof Pod>): KubeletPod {
  const phase = status?.phase ?? '';
  return {
    uid: metadata.uid,
    name: metadata.name,
    namespace: metadata.namespace,
    phase,
    deletionTimestamp: metadata.deletionTimestamp != null,
    source: metadata.annotations?.['kubernetes.io/config.source'] ?? '',
    images: imagesOf(spec),
    initContainers: (spec.initContainers ?? []).map(({ name }) => name),
    finished: phase === 'Succeeded' || phase === 'Failed',
    evicted: status?.reason === EVICTED,
  };
}

function imagesOf(spec: z.infer<typeof Pod>['spec']): string[] {
  const containers = [spec.containers, spec.initContainers, spec.ephemeralContainers].flatMap(
    (list) => list ?? [],
  );
  const volumes = (spec.volumes ?? []).map(({ image }) => image?.reference);
  return [...containers.map(({ image }) => image), ...volumes].flatMap((image) => image || []);
}
