import type { FleetNode } from './fleet-node.ts';
import { type FleetPod, logDirectoryName } from './fleet-pod.ts';
import { forgetIfGone } from './node-kubelet.ts';

export const POD_LOGS_DIR = '/var/log/pods';
/** Where the fleet's nodes have nothing: their kubelets make no flat symlinks. */
export const CONTAINER_LOGS_DIR = '/var/log/containers';

/** A directory as whoever removes logs opens it. */
export interface LogDirectory extends AsyncDisposable {
  readonly path: string;
  names(): Promise<readonly string[]>;
  lstat(name: string): Promise<{ isSymbolicLink(): boolean } | null>;
  stat(name: string): Promise<object | null>;
  unlink(name: string): Promise<void>;
  rmdir(name: string): Promise<void>;
  open(name: string): Promise<LogDirectory | null>;
}

/** Entries of a directory by name, and what becomes of them. */
interface Entries {
  readonly path: string;
  readonly names: () => readonly string[];
  readonly remove: (name: string) => void;
  readonly below: (name: string) => Entries | null;
}

/** The pods whose directory of logs is there, by its name. */
const podsWithLogs = ({ pods }: FleetNode): ReadonlyMap<string, FleetPod> =>
  new Map(
    [...pods.values()]
      .filter(({ podLogs }) => podLogs !== null)
      .map((pod) => [logDirectoryName(pod), pod] as const),
  );

export const podLogDirectories = (node: FleetNode): readonly string[] =>
  [...podsWithLogs(node).keys()].toSorted();

/** Opens a log directory of the node, in memory. `beforeRemoval` hears of a pod's directory while it is there yet. */
export function openPodLogDirectory(
  node: FleetNode,
  path: string,
  beforeRemoval: (name: string) => void,
): LogDirectory {
  return directoryOf(path === POD_LOGS_DIR ? rootOf(node, beforeRemoval) : emptyDirectory(path));
}

const emptyDirectory = (path: string): Entries => ({
  path,
  names: () => [],
  remove: () => {},
  below: () => null,
});

const rootOf = (node: FleetNode, beforeRemoval: (name: string) => void): Entries => ({
  path: POD_LOGS_DIR,
  names: () => podLogDirectories(node),
  remove: (name) => {
    const pod = podsWithLogs(node).get(name);
    if (pod === undefined) return;
    beforeRemoval(name);
    pod.podLogs = null;
    forgetIfGone(node, pod);
  },
  below: (name) => {
    const pod = podsWithLogs(node).get(name);
    return pod === undefined ? null : podDirectory(pod, `${POD_LOGS_DIR}/${name}`);
  },
});

/** One directory for its one container, as long as something is in it. */
const podDirectory = (pod: FleetPod, path: string): Entries => ({
  path,
  names: () => (pod.podLogs !== null && pod.podLogs.length > 0 ? ['app'] : []),
  remove: () => {},
  below: (name) => (name === 'app' ? filesOf(pod, `${path}/app`) : null),
});

const filesOf = (pod: FleetPod, path: string): Entries => ({
  path,
  names: () => [...(pod.podLogs ?? [])],
  remove: (name) => {
    pod.podLogs = pod.podLogs?.filter((log) => log !== name) ?? null;
  },
  below: () => null,
});

const directoryOf = (entries: Entries): LogDirectory => {
  const has = (name: string): boolean => entries.names().includes(name);
  return {
    path: entries.path,
    names: async () => entries.names(),
    lstat: async (name) => (has(name) ? { isSymbolicLink: () => false } : null),
    stat: async (name) => (has(name) ? {} : null),
    unlink: async (name) => entries.remove(name),
    rmdir: async (name) => entries.remove(name),
    open: async (name) => {
      const below = entries.below(name);
      return below && directoryOf(below);
    },
    [Symbol.asyncDispose]: async () => {},
  };
};
