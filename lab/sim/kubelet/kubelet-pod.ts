import { sha256Hex } from '../../../packages/canonical/ids.ts';
import type { KubeletPod } from '../../../packages/cri/kubelet/pod-source.ts';

/** A pod that somebody wants to run. */
export interface PodManifest {
  readonly name: string;
  readonly namespace: string;
  /** Container name to image reference. */
  readonly containers: Readonly<Record<string, string>>;
  /** Names among `containers` that are init containers. */
  readonly initContainers?: readonly string[];
  /** Where it comes from: the API server, or a file as on a standalone node. */
  readonly source?: 'api' | 'file';
}

/** A pod with what the kubelet keeps to itself. */
export interface Pod extends KubeletPod {
  readonly manifest: PodManifest;
  sandboxId: string;
  sandboxes: number;
  attempts: number;
  phase: 'Pending' | 'Running' | 'Succeeded';
  finished: boolean;
}

export const newPod = (uid: string, manifest: PodManifest): Pod => ({
  uid,
  manifest,
  name: manifest.name,
  namespace: manifest.namespace,
  images: Object.values(manifest.containers),
  initContainers: manifest.initContainers ?? [],
  source: manifest.source ?? 'api',
  deletionTimestamp: false,
  phase: 'Pending',
  finished: false,
  evicted: false,
  sandboxId: '',
  sandboxes: 0,
  attempts: 0,
});

/** As `/pods` tells it. */
export const podAsListed = ({
  uid,
  name,
  namespace,
  phase,
  deletionTimestamp,
  source,
  images,
  initContainers,
  finished,
  evicted,
}: Pod): KubeletPod => ({
  uid,
  name,
  namespace,
  phase,
  deletionTimestamp,
  source,
  images,
  initContainers,
  finished,
  evicted,
});

/** A UUID that follows from the text. */
export function uidOf(text: string): string {
  const hex = sha256Hex(text);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
