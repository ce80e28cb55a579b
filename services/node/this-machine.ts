import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { linuxClock } from '../../packages/machine/clock.ts';
import { createStatfsReader } from '../../packages/machine/filesystem.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { NodeName } from '../../schemas/events/identity.ts';
import { nodeLabelsIn } from '../node-agent/node-labels.ts';
import { LOCAL_CLUSTER } from './local-cluster.ts';
import type { ManagedNode } from './managed-node.ts';
import type { NodeOptions } from './node-options.ts';

type MachineOptions = Pick<
  NodeOptions,
  | 'cluster'
  | 'nodeName'
  | 'nodeLabels'
  | 'nodeLabelsFile'
  | 'runtimeEndpoint'
  | 'nodefsPath'
  | 'podLogsDir'
  | 'containerLogsDir'
> & { readonly log: 'kafka' | 'embedded' };

/** What options and the machine itself say of a node, without anything that is kept there. */
export interface ThisMachine
  extends Pick<ManagedNode, 'nodeLabels' | 'runtimeEndpoint' | 'clock' | 'filesystems' | 'logs'> {
  readonly name: Pick<ManagedNode['identity'], 'cluster' | 'node'>;
}

const KUBELET_DIRECTORY = '/var/lib/kubelet';

/** The machine that this process runs on. Throws `CONFIG_INVALID`. */
export function thisMachine(options: MachineOptions): ThisMachine {
  const name = { cluster: clusterOf(options), node: nodeNameOf(options) };
  const nodefs = nodefsOf(options);
  return {
    name,
    nodeLabels: { ...labelsFromFile(options), ...options.nodeLabels },
    runtimeEndpoint: options.runtimeEndpoint,
    clock: linuxClock(),
    filesystems: ({ imageFilesystems }) =>
      createStatfsReader({ hostRoot: '/', nodefs, imageFilesystems, nowMs: systemSources.monotonicNow }),
    logs: { podLogsDir: options.podLogsDir, containerLogsDir: options.containerLogsDir },
  };
}

function nodefsOf({ nodefsPath }: Pick<NodeOptions, 'nodefsPath'>): string {
  if (nodefsPath === undefined) return existsSync(KUBELET_DIRECTORY) ? KUBELET_DIRECTORY : '/';
  if (existsSync(nodefsPath)) return nodefsPath;
  throw configError([`--nodefs-path: there is no ${nodefsPath}`]);
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
