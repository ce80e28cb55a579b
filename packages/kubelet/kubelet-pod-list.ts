import { z } from 'zod';
import type { KubeletPod } from './pod-source.ts';

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
export const KubeletPodList = z.object({
  kind: z.literal('PodList'),
  items: z.array(Pod).nullable(),
});
export type KubeletPodList = z.infer<typeof KubeletPodList>;

/** What the kubelet's eviction manager writes, and nobody else. */
const EVICTED = 'Evicted';

export const podsIn = ({ items }: KubeletPodList): KubeletPod[] => (items ?? []).map(podOf);

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
