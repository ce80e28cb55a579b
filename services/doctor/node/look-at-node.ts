import { constants, existsSync } from 'node:fs';
import { access, readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { connectReader } from '../../../packages/cri/client.ts';
import { connectContainerd } from '../../../packages/cri/containerd/reader.ts';
import type { RuntimeReader } from '../../../packages/cri/port.ts';
import { openReadOnlyFile } from '../../../packages/files/fixed-file.ts';
import { lockHolders } from '../../../packages/machine/lock-holders.ts';
import { readMachineId } from '../../../packages/machine/machine-id.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { readTextFile, unreadableReason } from '../../../packages/process/options/named-file.ts';
import { IMAGE_HISTORY_FILE, ImageHistoryFile } from '../../../schemas/state/image-history.ts';
import { haveDelivered } from '../../node/agent/pods/pod-states.ts';
import { type LocalRules, parseLocalRules, readLocalFile } from '../../node/executor/local/local-file.ts';
import { openKubeletPods } from '../../node/managed-node.ts';
import {
  type ContainerdOptions,
  type KubeletOptions,
  type NodeOptions,
  toExecutorOptions,
} from '../../node/node-options.ts';
import { otherRemovers } from '../../node/other-removers.ts';
import { thisMachine } from '../../node/this-machine.ts';
import { looked, lookedNow } from '../finding.ts';
import type { PodFacts } from '../findings/kubelet.ts';
import type { DirectoryFacts, StateFacts } from '../findings/machine.ts';
import type { DiskFacts, RuntimeFacts } from '../findings/runtime.ts';
import type { LogFacts } from '../log/look-at-log.ts';
import type { NodeFacts } from './node-facts.ts';

/** As a node gets them, and where the kubelet's configuration is. */
export type LookedAtOptions = NodeOptions &
  ContainerdOptions &
  KubeletOptions & {
    readonly localFile?: string | undefined;
    readonly kubeletConfigFile: string;
    readonly log: 'kafka' | 'embedded';
  };

type MachineFacts = Omit<NodeFacts, 'version' | 'policy' | keyof LogFacts>;

/** A look is over before somebody gives up. */
const CALL_MS = 8_000;
const TIMEOUTS = { readMs: CALL_MS, removeImageMs: CALL_MS, removeMs: CALL_MS };

/** Begins to look at the machine itself. Connections end with `resources`. */
export function lookAtMachine(options: LookedAtOptions, resources: DisposableStack): MachineFacts {
  const { runtimeEndpoint, stateDirectory } = options;
  const { localFile } = toExecutorOptions(options);
  const runtime = resources.use(connectReader(runtimeEndpoint, TIMEOUTS));
  return {
    uid: process.getuid?.() ?? null,
    name: lookedNow(() => {
      const { name, nodeLabels } = thisMachine(options);
      return { ...name, labels: nodeLabels };
    }),
    machineId: lookedNow(() => readMachineId(options.machineIdFile)),
    runtime: looked(() => runtimeFacts(runtime, runtimeEndpoint)),
    imageNames: looked(() => (options.imageLayers ? imageNames(runtimeEndpoint, resources) : 0)),
    disks: looked(() => diskFacts(options, runtime)),
    pods: options.kubeletUrl === undefined ? null : looked(() => podFacts(options, resources)),
    kubeletFile: lookedNow(() => textOf(options.kubeletConfigFile)),
    podLogs: Promise.all([options.podLogsDir, options.containerLogsDir].map((path) => directoryFacts(path))),
    state: stateFacts(stateDirectory),
    locks: lookedNow(() => lockHolders(stateDirectory)),
    others: otherRemovers(options),
    localRules: localRules(localFile.path),
    options: {
      machineIdFile: options.machineIdFile,
      imageLayers: options.imageLayers,
      kubeletUrl: options.kubeletUrl,
      kubeletConfigFile: options.kubeletConfigFile,
      stateDirectory,
      localFile,
    },
  };
}

async function runtimeFacts(runtime: RuntimeReader, endpoint: string): Promise<RuntimeFacts> {
  const [version, status] = await Promise.all([runtime.version(), runtime.status()]);
  return { endpoint, version, status };
}

async function imageNames(endpoint: string, resources: DisposableStack): Promise<number> {
  const containerd = resources.use(connectContainerd(endpoint));
  return (await containerd.images(CALL_MS)).length;
}

async function diskFacts(options: LookedAtOptions, runtime: RuntimeReader): Promise<DiskFacts> {
  // Which node this is changes nothing about where its disks are.
  const { filesystems } = thisMachine({ ...options, log: 'embedded' });
  let unmeasured: readonly string[] = [];
  const reader = filesystems(runtime, (problems) => {
    unmeasured = problems;
  });
  const [named, readings] = await Promise.all([runtime.imageFilesystems(), reader.read()]);
  return { named, readings, unmeasured };
}

async function podFacts(options: LookedAtOptions, resources: DisposableStack): Promise<PodFacts> {
  const { source } = resources.use(openKubeletPods(options));
  if (source === null) throw new FleetGcError('INTERNAL', 'there is no kubelet to ask');
  const listing = await source.list();
  return {
    pods: listing.pods.length,
    haveDelivered: haveDelivered(listing, options.podSources),
    sources: options.podSources,
    proxy: listing.proxy ?? null,
  };
}

function textOf(path: string): string | null {
  if (!existsSync(path)) return null;
  const file = readTextFile(path);
  if (file.ok) return file.text;
  throw new FleetGcError('NOT_FOUND', file.reason);
}

async function directoryFacts(path: string): Promise<DirectoryFacts> {
  const found = await stat(path).catch((error: unknown) => error);
  if (found instanceof Error)
    return isMissing(found)
      ? { path, state: 'missing' }
      : { path, state: 'not-readable', why: unreadableReason(found) };
  if (!(await stat(path)).isDirectory()) return { path, state: 'no-directory' };
  const unread = await refusal(path, constants.R_OK | constants.X_OK);
  if (unread !== null) return { path, state: 'not-readable', why: unread };
  const unwritten = await refusal(path, constants.W_OK);
  return unwritten === null ? { path, state: 'usable' } : { path, state: 'not-writable', why: unwritten };
}

const isMissing = (error: Error): boolean => 'code' in error && error.code === 'ENOENT';

/** Why this process may not; `null` where it may. */
const refusal = (path: string, mode: number): Promise<string | null> =>
  access(path, mode).then(() => null, unreadableReason);

async function stateFacts(path: string): Promise<StateFacts> {
  const [directory, room, files, history] = await Promise.all([
    directoryFacts(path),
    statfs(path, { bigint: true }).catch(() => null),
    readdir(path).catch(() => []),
    looked(() => openReadOnlyFile(join(path, IMAGE_HISTORY_FILE), ImageHistoryFile).read()),
  ]);
  return {
    ...directory,
    availableBytes: room && room.bavail * room.bsize,
    files: files.length,
    history,
  };
}

async function localRules(path: string): Promise<LocalRules | null> {
  const file = await readLocalFile(path);
  if (file.kind === 'missing') return null;
  return file.kind === 'held' ? file : parseLocalRules(path, file.text);
}
