import { join } from 'node:path';
import { z } from 'zod';
import { IN_CLUSTER } from '../../packages/kube-api/open-connection.ts';
import { lockState, openStateFiles, type StateFiles } from '../../packages/machine/state-directory.ts';
import { FilePath, Text, WholeNumber, withMeta } from '../../packages/process/options/options.ts';
import { ClusterName } from '../../schemas/events/identity.ts';

/** In place of a namespace: without a Lease. */
const NO_LEASE = 'none';

/** How an API server is reached. */
export const apiServerOptions = {
  kubeconfig: withMeta(FilePath, {
    placeholder: `FILE|${IN_CLUSTER}`,
    description: `How the API server is reached; ${IN_CLUSTER} for the service account of the pod.`,
  }),
  context: withMeta(Text.optional(), {
    placeholder: 'NAME',
    description: 'Context in the kubeconfig; its current one when not given.',
  }),
};

/** For a half that runs by itself, in more than one replica. */
export const turnOptions = {
  leaseNamespace: withMeta(Text.optional(), {
    placeholder: `NAMESPACE|${NO_LEASE}`,
    description: `Namespace of the Lease by which replicas take turns; that of the pod, or kube-system outside of one, when not given. ${NO_LEASE}: all of them work.`,
  }),
};

const KUBE_SYSTEM = 'kube-system';

/** Where the Lease is; `null`: none is used. `ofPod`: where this pod runs, if it does. */
export function leaseNamespaceOf(
  { leaseNamespace }: Pick<TurnOptions, 'leaseNamespace'>,
  ofPod: string | null,
): string | null {
  const namespace = leaseNamespace ?? ofPod ?? KUBE_SYSTEM;
  return namespace === NO_LEASE ? null : namespace;
}

/** Which cluster, and how its API server is reached. */
export const clusterOptions = {
  cluster: withMeta(ClusterName, {
    placeholder: 'NAME',
    description: 'Name of the cluster, by which policies and pauses select it.',
  }),
  ...apiServerOptions,
};

const RequestsPerSecond = WholeNumber.refine((number) => number >= 1 && number <= 10_000, {
  error: 'must be from 1 to 10000',
});

/** How fast what is ordered is carried out. */
export const removingOptions = {
  apiRequestsPerSecond: withMeta(RequestsPerSecond.prefault('50'), {
    placeholder: 'NUMBER',
    description:
      'Requests to the API server that carry commands out, at most so many a second, and twice as many at once. Reading the cluster does not count.',
  }),
  localFile: withMeta(FilePath.optional(), {
    description:
      'File with which the people of the cluster stop everything. While it says "hold: true", is not there, is empty or cannot be understood, nothing is deleted or changed, whatever policies and commands say. "{}" stops nothing.',
  }),
};

/** What only the removing half needs, where it runs by itself. */
export const clusterExecutorOptions = {
  stateDirectory: withMeta(FilePath.optional(), {
    placeholder: 'DIRECTORY',
    description:
      'Where it keeps which keys and policies it has seen; cluster-NAME in /var/lib/fleetgc when not given. Each executor has its own.',
  }),
};

const RemovingOptions = z.object(removingOptions);
export type RemovingOptions = z.infer<typeof RemovingOptions>;
const TurnOptions = z.object(turnOptions);
export type TurnOptions = z.infer<typeof TurnOptions>;
const ApiServerOptions = z.object(apiServerOptions);
export type ApiServerOptions = z.infer<typeof ApiServerOptions>;
const ClusterOptions = z.object(clusterOptions);
export type ClusterOptions = z.infer<typeof ClusterOptions>;

/** Where everything of FleetGC lies that outlives a process. */
export const STATE_DIRECTORY = '/var/lib/fleetgc';

interface ExecutorState {
  readonly cluster: string;
  readonly stateDirectory?: string | undefined;
}

/**
 * What the executor of a cluster keeps; each replica has a directory of its own. Throws `STATE_UNWRITABLE` and
 * `STATE_IN_USE`.
 */
export function openExecutorState({ cluster, stateDirectory }: ExecutorState): StateFiles & Disposable {
  const files = openStateFiles(stateDirectory ?? join(STATE_DIRECTORY, `cluster-${cluster}`));
  const lock = lockState(files.path, ['executor']);
  return { ...files, [Symbol.dispose]: () => lock[Symbol.dispose]() };
}
