/** A pod for the kubelet to run, on the node's network. */
export interface WantedPod {
  readonly name: string;
  readonly containers: readonly WantedContainer[];
  readonly initContainers?: readonly WantedContainer[];
  /** `Never`: the pod stays when its containers have ended. */
  readonly restartPolicy?: 'Always' | 'Never';
  /** The kubelet ends the pod so long after its start. */
  readonly deadlineSeconds?: number;
}

export interface WantedContainer {
  readonly name: string;
  readonly image: string;
  /** By default it sleeps. */
  readonly does?: Behaviour;
}

/** Fails so often, with a line in its log each time, and then sleeps; or ends at once with this code. */
export type Behaviour = { readonly failures: number } | { readonly exitCode: number };

const STATE = '/state';

/**
 * The pod's manifest, as it lies in the kubelet's folder. With another number of the same UID it is the same pod, which
 * the kubelet looks at anew.
 */
export const staticPodManifest = (pod: WantedPod, uid: string, number: number): unknown => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: pod.name,
    namespace: 'default',
    uid,
    annotations: { 'fleetgc.test/number': String(number) },
  },
  spec: specOf(pod),
});

/** The same for an API server, already bound to a node as by a scheduler. */
export const boundPodManifest = (pod: WantedPod, nodeName: string): unknown => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: pod.name, namespace: 'default' },
  spec: { ...specOf(pod), nodeName },
});

const specOf = ({
  containers,
  initContainers = [],
  restartPolicy = 'Always',
  deadlineSeconds,
}: WantedPod) => ({
  hostNetwork: true,
  restartPolicy,
  terminationGracePeriodSeconds: 1,
  activeDeadlineSeconds: deadlineSeconds,
  volumes: [{ name: 'state', emptyDir: {} }],
  initContainers: initContainers.map(containerManifest),
  containers: containers.map(containerManifest),
});

const containerManifest = ({ name, image, does }: WantedContainer): unknown => ({
  name,
  image,
  imagePullPolicy: 'IfNotPresent',
  volumeMounts: [{ name: 'state', mountPath: STATE }],
  ...(does && { command: ['/bin/busybox', 'sh', '-c', scriptOf(name, does)] }),
});

function scriptOf(name: string, does: Behaviour): string {
  if ('exitCode' in does) return `echo done; exit ${does.exitCode}`;
  const file = `${STATE}/${name}`;
  return [
    `n=0; [ -e ${file} ] && read n < ${file}`,
    `[ "$n" -ge ${does.failures} ] && exec /bin/busybox sleep 1000000`,
    `echo $((n + 1)) > ${file}; echo "failure $n"; exit 1`,
  ].join('\n');
}
