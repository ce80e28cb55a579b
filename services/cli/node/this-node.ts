import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { NodeName } from '../../../schemas/identity.ts';
import { nodeLabelsIn } from '../../node-agent/node-labels.ts';
import { linuxClock } from '../../shared/clock-linux.ts';
import { configError } from '../../shared/config.ts';
import { createStatfsReader } from '../../shared/filesystem-statfs.ts';
import { readMachineId } from '../../shared/machine-id.ts';
import { openStateDirectory } from '../../shared/state-directory.ts';
import { lockState, type StateRole } from '../../shared/state-lock.ts';
import { systemSources } from '../../shared/system-sources.ts';
import { readTextFile } from '../../shared/text-file.ts';
import { LOCAL_CLUSTER } from '../local-cluster.ts';
import { openKubeletPods } from './kubelet-pods.ts';
import type { ManagedNode } from './managed-node.ts';
import type { KubeletOptions, NodeOptions } from './node-options.ts';

type ThisNodeOptions = NodeOptions & KubeletOptions & { readonly log: 'kafka' | 'embedded' };

const KUBELET_DIRECTORY = '/var/lib/kubelet';

/**
 * The machine that this process runs on, for which it takes these roles. Throws `CONFIG_INVALID`, `STATE_IN_USE`,
 * `STATE_UNWRITABLE` or `STATE_UNREADABLE`.
 */
export function openThisNode(
  options: ThisNodeOptions,
  roles: readonly StateRole[],
): ManagedNode & Disposable {
  using resources = new DisposableStack();
  const node = nodeNameOf(options);
  const cluster = clusterOf(options);
  const nodeLabels = { ...labelsFromFile(options), ...options.nodeLabels };
  const state = openStateDirectory(options.stateDirectory, readMachineId(options.machineIdFile));
  resources.use(lockState(options.stateDirectory, roles));
  const nodefs = existsSync(KUBELET_DIRECTORY) ? KUBELET_DIRECTORY : '/';
  const pods = resources.use(openKubeletPods(options));
  const opened = resources.move();
  return {
    identity: { cluster, node, nodeInstance: state.nodeInstance },
    nodeLabels,
    runtimeEndpoint: options.runtimeEndpoint,
    clock: linuxClock(),
    state,
    filesystems: ({ imageFilesystems }) =>
      createStatfsReader({ hostRoot: '/', nodefs, imageFilesystems, nowMs: systemSources.monotonicNow }),
    logs: { podLogsDir: options.podLogsDir, containerLogsDir: options.containerLogsDir },
    pods,
    podSources: options.podSources,
    [Symbol.dispose]: () => opened.dispose(),
  };
}

function clusterOf({ cluster, log }: Pick<NodeOptions, 'cluster'> & { readonly log: string }): string {
  if (cluster !== undefined) return cluster;
  if (log === 'embedded') return LOCAL_CLUSTER;
  throw configError(['--cluster is missing: on Kafka nodes of several clusters can have equal names']);
}

function nodeNameOf({ nodeName }: Pick<NodeOptions, 'nodeName'>): string {
  const parsed = NodeName.safeParse(nodeName ?? hostname());
  if (parsed.success) return parsed.data;
  throw configError([`the host name ${hostname()} cannot be the name of a node; give one with --node-name`]);
}

function labelsFromFile({
  nodeLabelsFile,
}: Pick<NodeOptions, 'nodeLabelsFile'>): Readonly<Record<string, string>> {
  if (nodeLabelsFile === undefined) return {};
  const file = readTextFile(nodeLabelsFile);
  if (file.ok) return nodeLabelsIn(file.text, nodeLabelsFile);
  throw configError([`--node-labels-file: ${nodeLabelsFile} cannot be read: ${file.reason}`]);
}
