import { sha256Hex } from '../../../packages/canonical/ids.ts';
import type { KubeletPod } from '../../../packages/cri/kubelet/pod-source.ts';
import type { RuntimeContainer, RuntimeContainerState, RuntimeSandbox } from '../../../packages/cri/port.ts';
import { uidOf } from '../kubelet/kubelet-pod.ts';
import { type Application, applicationName, applicationNamespace } from '../runtime/catalogue.ts';
import type { CatalogueImage } from './fleet-catalogue.ts';

/** What a pod is to do. */
export type PodKind = 'service' | 'crashing' | 'job';

export interface FleetContainer {
  readonly id: string;
  readonly attempt: number;
  readonly image: CatalogueImage;
  /** By the time of the fleet, which nobody can set. */
  readonly createdMs: number;
  /** What it wrote beside its image. */
  readonly layerBytes: bigint;
  /** As the runtime lists it; another object when its state changes. */
  listed: RuntimeContainer;
  /** By the time of the fleet; `null` while it runs. */
  finishedMs: number | null;
  /** By the clock of the node. */
  finishedAtNs: bigint;
}

/** A pod on a node, known to the kubelet or left behind, with one container at a time. */
export interface FleetPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly kind: PodKind;
  readonly application: Application;
  readonly image: CatalogueImage;
  readonly labels: Readonly<Record<string, string>>;
  readonly containers: FleetContainer[];
  readonly sandboxes: RuntimeSandbox[];
  /** Names in its directory of logs; `null` once the directory is gone. */
  podLogs: string[] | null;
  /** As the kubelet tells it; `null` once it forgot it. */
  listed: KubeletPod | null;
  containerAttempts: number;
  sandboxAttempts: number;
}

export interface FleetPodManifest {
  readonly kind: PodKind;
  readonly application: Application;
  readonly image: CatalogueImage;
}

const CONTAINER_NAME = 'app';

/** `unique` tells it from every other pod of the fleet. */
export function newFleetPod(unique: string, { kind, application, image }: FleetPodManifest): FleetPod {
  const uid = uidOf(unique);
  const name = `${applicationName(application)}-${uid.slice(0, 8)}`;
  const namespace = applicationNamespace(application);
  return {
    uid,
    name,
    namespace,
    kind,
    application,
    image,
    labels: {
      'io.kubernetes.pod.name': name,
      'io.kubernetes.pod.namespace': namespace,
      'io.kubernetes.pod.uid': uid,
      'io.kubernetes.container.name': CONTAINER_NAME,
    },
    containers: [],
    sandboxes: [],
    podLogs: [],
    listed: listedPod({ uid, name, namespace, images: [image.reference] }),
    containerAttempts: 0,
    sandboxAttempts: 0,
  };
}

const listedPod = (pod: Pick<KubeletPod, 'uid' | 'name' | 'namespace' | 'images'>): KubeletPod => ({
  ...pod,
  phase: 'Running',
  deletionTimestamp: false,
  source: 'api',
  initContainers: [],
  finished: false,
  evicted: false,
});

/** When something was made: by the time of the fleet, and by the clock of the node. */
export interface Stamp {
  readonly fleetMs: number;
  readonly wallNs: bigint;
}

export function addSandbox(pod: FleetPod, { wallNs }: Stamp): RuntimeSandbox {
  const attempt = pod.sandboxAttempts++;
  const sandbox: RuntimeSandbox = {
    id: sha256Hex(`sandbox ${attempt} of ${pod.uid}`),
    podUid: pod.uid,
    podName: pod.name,
    podNamespace: pod.namespace,
    attempt,
    state: 'ready',
    createdAtNs: wallNs,
    labels: pod.labels,
    annotations: NONE,
  };
  pod.sandboxes.push(sandbox);
  return sandbox;
}

const NONE = {};

export function addContainer(
  pod: FleetPod,
  sandboxId: string,
  { fleetMs, wallNs }: Stamp,
  layerBytes: bigint,
): FleetContainer {
  const attempt = pod.containerAttempts++;
  const id = sha256Hex(`container ${attempt} of ${pod.uid}`);
  const { image, labels } = pod;
  const listed: RuntimeContainer = {
    id,
    sandboxId,
    name: CONTAINER_NAME,
    attempt,
    state: 'running',
    createdAtNs: wallNs,
    image: image.spec,
    imageRef: image.id,
    imageId: image.id,
    labels,
    annotations: NONE,
  };
  const rest = { createdMs: fleetMs, layerBytes, listed, finishedMs: null, finishedAtNs: 0n };
  const container: FleetContainer = { id, attempt, image, ...rest };
  pod.containers.push(container);
  pod.podLogs?.push(`${attempt}.log`);
  return container;
}

const withState = (listed: RuntimeContainer, state: RuntimeContainerState): RuntimeContainer => ({
  ...listed,
  state,
});

/** Ends what runs of it. Returns the ids of the containers that ended. */
export function endContainers(pod: FleetPod, { fleetMs, wallNs }: Stamp): readonly string[] {
  const running = pod.containers.filter(({ finishedMs }) => finishedMs === null);
  for (const container of running) {
    container.finishedMs = fleetMs;
    container.finishedAtNs = wallNs;
    container.listed = withState(container.listed, 'exited');
  }
  return running.map(({ id }) => id);
}

/** Its sandboxes are not ready any more. */
export function endSandboxes(pod: FleetPod): void {
  for (const [index, sandbox] of pod.sandboxes.entries())
    if (sandbox.state === 'ready') pod.sandboxes[index] = { ...sandbox, state: 'notReady' };
}

export const readySandbox = ({ sandboxes }: FleetPod): RuntimeSandbox | undefined =>
  sandboxes.find(({ state }) => state === 'ready');

/** `<namespace>_<name>_<uid>`, as the kubelet calls its directory of logs. */
export const logDirectoryName = ({
  namespace,
  name,
  uid,
}: Pick<FleetPod, 'namespace' | 'name' | 'uid'>): string => `${namespace}_${name}_${uid}`;

/** Nothing is left of it anywhere. */
export const isWithoutTrace = ({ listed, containers, sandboxes, podLogs }: FleetPod): boolean =>
  listed === null && containers.length === 0 && sandboxes.length === 0 && podLogs === null;
