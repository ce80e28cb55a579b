import { existsSync, statfsSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { linuxClock } from '../../packages/machine/clock.ts';
import { createStatfsReader } from '../../packages/machine/filesystem.ts';
import { readMachineId } from '../../packages/machine/machine-id.ts';
import {
  lockState,
  makeStateFiles,
  openStateDirectory,
  type StateFile,
  type StateRole,
} from '../../packages/machine/state-directory.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { NodeName } from '../../schemas/events/identity.ts';
import { IMAGE_HISTORY_BYTES, IMAGE_HISTORY_FILE } from '../../schemas/state/image-history.ts';
import { BACKOFF_BYTES, BACKOFF_FILE } from '../../schemas/state/removal-backoff.ts';
import { REMOVED_IMAGES_BYTES, REMOVED_IMAGES_FILE } from '../../schemas/state/removed-images.ts';
import { DISK_HISTORY_BYTES, DISK_HISTORY_FILE } from './agent/disks.ts';
import { JOURNAL_BYTES, JOURNAL_FILE } from './executor/journal.ts';
import { LOCAL_MARK_BYTES, LOCAL_MARK_FILE } from './executor/local-rules.ts';
import { type ManagedNode, openKubeletPods } from './managed-node.ts';
import type { ContainerdOptions, KubeletOptions, NodeOptions } from './node-options.ts';
import { otherRemovers, removerText } from './other-removers.ts';

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
interface ThisMachine
  extends Pick<ManagedNode, 'nodeLabels' | 'runtimeEndpoint' | 'clock' | 'filesystems' | 'podLogs'> {
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
    filesystems: ({ imageFilesystems }, onUnmeasured) =>
      createStatfsReader({
        hostRoot: '/',
        nodefs,
        imageFilesystems,
        nowMs: systemSources.monotonicNow,
        ...(onUnmeasured && { onUnmeasured }),
      }),
    podLogs: { podLogsDir: options.podLogsDir, containerLogsDir: options.containerLogsDir },
  };
}

function nodefsOf({ nodefsPath }: Pick<NodeOptions, 'nodefsPath'>): string {
  if (nodefsPath === undefined) return existsSync(KUBELET_DIRECTORY) ? KUBELET_DIRECTORY : wholeRoot();
  if (existsSync(nodefsPath)) return nodefsPath;
  throw configError([`--nodefs-path: there is no ${nodefsPath}`]);
}

const TMPFS = 0x01021994;

/** A root that lies in memory, as that of a process that is shut in, says nothing of a disk of this node. */
function wholeRoot(): string {
  if (statfsSync('/').type !== TMPFS) return '/';
  throw configError([
    '--nodefs-path is missing: / lies in memory here, so name a directory on the filesystem whose space counts',
  ]);
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

/** What each role keeps in the state directory, all of it from its first start on. */
const STATE_FILES: Readonly<
  Record<StateRole, { readonly main: StateFile; readonly others: readonly StateFile[] }>
> = {
  agent: {
    main: { name: IMAGE_HISTORY_FILE, bytes: IMAGE_HISTORY_BYTES },
    others: [{ name: DISK_HISTORY_FILE, bytes: DISK_HISTORY_BYTES }],
  },
  executor: {
    main: { name: JOURNAL_FILE, bytes: JOURNAL_BYTES },
    others: [
      { name: BACKOFF_FILE, bytes: BACKOFF_BYTES },
      { name: REMOVED_IMAGES_FILE, bytes: REMOVED_IMAGES_BYTES },
      { name: LOCAL_MARK_FILE, bytes: LOCAL_MARK_BYTES },
    ],
  },
};

type ThisNodeOptions = NodeOptions &
  KubeletOptions &
  ContainerdOptions & { readonly log: 'kafka' | 'embedded' };

/**
 * The machine that this process runs on, for which it takes these roles. Throws `CONFIG_INVALID`, `STATE_IN_USE`,
 * `STATE_UNWRITABLE` or `STATE_UNREADABLE`.
 */
export function openThisNode(
  options: ThisNodeOptions,
  roles: readonly StateRole[],
  logger: Logger,
): ManagedNode & Disposable {
  using resources = new DisposableStack();
  const { name, ...machine } = thisMachine(options);
  const state = openStateDirectory(options.stateDirectory, readMachineId(options.machineIdFile));
  resources.use(lockState(options.stateDirectory, roles));
  if (roles.includes('executor')) reportOthers(options, logger);
  for (const role of roles) makeStateFiles(options.stateDirectory, STATE_FILES[role]);
  const pods = resources.use(openKubeletPods(options));
  const opened = resources.move();
  return {
    ...machine,
    identity: { ...name, nodeInstance: state.nodeInstance },
    state,
    pods,
    podSources: options.podSources,
    imageLayers: options.imageLayers,
    [Symbol.dispose]: () => opened.dispose(),
  };
}

/** Two executors on one runtime are safe, since each looks before it removes; but neither knows what the other removed and why. */
function reportOthers(options: ThisNodeOptions, logger: Logger): void {
  for (const { pid, command, stateDirectory } of otherRemovers(options))
    logger.warn(
      { pid, command, stateDirectory },
      `Another process removes through this container runtime: ${removerText({ pid, command, stateDirectory })}. Stop one of the two: neither knows what the other removed.`,
    );
}

/** Where one machine is the whole fleet, its cluster needs no name. */
export const LOCAL_CLUSTER = 'local';

/** Kubernetes' form: an optional prefix with a slash, and a value that may be empty or, in a file, in quotes. */
const NAME = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\/)?[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;
const VALUE = /^"?([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|)"?$/;

/**
 * The labels in a file, one `name=value` a line; blank lines and lines that begin with `#` are nothing. Throws
 * `CONFIG_INVALID` that names every line that is no label: with a label missing, another policy could select the node.
 */
export function nodeLabelsIn(content: string, file: string): Readonly<Record<string, string>> {
  const lines = content.split('\n').map((line) => line.trim());
  const labels = lines.filter((line) => line !== '' && !line.startsWith('#')).map(labelIn);
  const wrong = labels.flatMap((label) => (label.value === null ? [label.line] : []));
  if (wrong.length === 0) return Object.fromEntries(labels.map(({ name, value }) => [name, value ?? '']));
  throw new FleetGcError(
    'CONFIG_INVALID',
    `${file} holds node labels, one name=value a line, and these lines are none: ${wrong.join('; ')}`,
  );
}

function labelIn(line: string): {
  readonly line: string;
  readonly name: string;
  readonly value: string | null;
} {
  const at = line.indexOf('=');
  const name = line.slice(0, Math.max(at, 0));
  const value = VALUE.exec(line.slice(at + 1));
  return { line, name, value: NAME.test(name) && value ? (value[1] ?? '') : null };
}
