import { constants, existsSync } from 'node:fs';
import { access, readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { connectReader } from '../../packages/cri/client.ts';
import { connectContainerd } from '../../packages/cri/containerd/reader.ts';
import type { RuntimeReader } from '../../packages/cri/port.ts';
import { openReadOnlyFile } from '../../packages/files/fixed-file.ts';
import { type LockHolder, lockHolders } from '../../packages/machine/lock-holders.ts';
import { readMachineId } from '../../packages/machine/machine-id.ts';
import { readKubeletFile } from '../../packages/policy/from-kubelet/from-kubelet.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { readTextFile, unreadableReason } from '../../packages/process/options/named-file.ts';
import type { Policy } from '../../schemas/policy/policy.ts';
import { selectPolicy } from '../../schemas/policy/policy-selection.ts';
import { IMAGE_HISTORY_FILE, ImageHistoryFile } from '../../schemas/state/image-history.ts';
import { haveDelivered } from '../node/agent/pods.ts';
import {
  type LocalFileOption,
  type LocalRules,
  parseLocalRules,
  readLocalFile,
} from '../node/executor/local-rules.ts';
import { openKubeletPods } from '../node/managed-node.ts';
import {
  type ContainerdOptions,
  type KubeletOptions,
  type NodeOptions,
  toExecutorOptions,
} from '../node/node-options.ts';
import { type OtherRemover, otherRemovers } from '../node/other-removers.ts';
import { thisMachine } from '../node/this-machine.ts';
import { type Checks, type Finding, type Looked, looked, lookedNow, ok, skipped } from './checks.ts';
import { type JudgedPolicies, type LogFacts, logChecks, whereReached } from './log.ts';
import { type PolicyFacts, policyFinding } from './log-findings.ts';
import {
  type DirectoryFacts,
  type DiskFacts,
  filesystemsFinding,
  imageLayersFinding,
  kubeletFinding,
  kubeletSettingsFinding,
  localFileFinding,
  machineIdFinding,
  type NameFacts,
  nameFinding,
  type PodFacts,
  podLogsFinding,
  type RuntimeFacts,
  runtimeFinding,
  type StateFacts,
  stateDirectoryFinding,
  stateLockFinding,
  userFinding,
} from './node-findings.ts';

/** The checks of a node, in the order in which they are told. */
export const NODE_CHECKS = {
  version: { looksAt: 'this program', look: ({ version }) => ok(version) },
  user: { looksAt: 'who runs this command', look: ({ uid }) => userFinding(uid) },
  'node-name': { looksAt: 'cluster, name and labels of the node', look: ({ name }) => nameFinding(name) },
  'machine-id': {
    looksAt: 'the machine id',
    look: ({ machineId, options }) => machineIdFinding(options.machineIdFile, machineId),
  },
  runtime: {
    looksAt: 'the container runtime, over CRI',
    look: async ({ runtime }) => runtimeFinding(await runtime),
  },
  'image-layers': {
    looksAt: 'containerd’s own API',
    look: async ({ imageNames, runtime, options }) =>
      imageLayersFinding(options.imageLayers, { images: await imageNames, runtime: await runtime }),
  },
  filesystems: {
    looksAt: 'the filesystems of the node, its images and its containers',
    look: async ({ disks }) => filesystemsFinding(await disks),
  },
  kubelet: {
    looksAt: 'the pods of the kubelet',
    look: async ({ pods, options }) => kubeletFinding(options.kubeletUrl, await pods),
  },
  'kubelet-settings': { looksAt: 'garbage collection by the kubelet itself', look: kubeletSettings },
  'pod-logs': {
    looksAt: 'the directories of pod logs',
    look: async ({ podLogs }) => podLogsFinding(await podLogs),
  },
  'state-directory': {
    looksAt: 'the state directory and its room',
    look: async ({ state }) => stateDirectoryFinding(await state),
  },
  'state-lock': {
    looksAt: 'which processes use the state directory, and which others remove through the runtime',
    look: ({ locks, others, options }) =>
      stateLockFinding(options.stateDirectory, { holders: locks, others }),
  },
  'local-file': {
    looksAt: 'the node’s own file',
    look: async ({ localRules, options }) => localFileFinding(options.localFile, await localRules),
  },
  ...logChecks('node'),
  policy: { looksAt: 'which policy or pause holds for this node', look: policy },
} as const satisfies Checks<string, NodeFacts>;

async function policy(facts: NodeFacts): Promise<Finding> {
  const { policy: asked } = facts;
  if (asked === null) return skipped('Nobody knows which node this is; see node-name.');
  return await whereReached(facts, async () => policyFinding(await asked));
}

async function kubeletSettings({ kubeletFile, options, policy: asked }: NodeFacts): Promise<Finding> {
  const { kubeletConfigFile: file } = options;
  const read = (text: string) => readKubeletFile({ file, text });
  return kubeletSettingsFinding(file, kubeletFile, { read, policy: await inForce(asked) });
}

async function inForce(asked: NodeFacts['policy']): Promise<Policy | null> {
  const facts = await asked;
  if (!facts?.ok || facts.value.selection.kind !== 'policy') return null;
  return facts.value.selection.record.policy;
}

/** What somebody sees who looks at a node. All of it is looked at side by side, and once. */
interface NodeFacts extends LogFacts {
  /** Which program looks. */
  readonly version: string;
  /** `null` where the system has no users. */
  readonly uid: number | null;
  readonly name: Looked<NameFacts>;
  readonly machineId: Looked<string>;
  readonly runtime: Promise<Looked<RuntimeFacts>>;
  /** How many names of images containerd's own API tells. */
  readonly imageNames: Promise<Looked<number>>;
  readonly disks: Promise<Looked<DiskFacts>>;
  /** `null` without a kubelet that could be asked. */
  readonly pods: Promise<Looked<PodFacts>> | null;
  /** The text of the kubelet's configuration; `null`: there is no such file. */
  readonly kubeletFile: Looked<string | null>;
  readonly podLogs: Promise<readonly DirectoryFacts[]>;
  readonly state: Promise<StateFacts>;
  readonly locks: Looked<readonly LockHolder[]>;
  /** Who removes through the same runtime with another state directory. */
  readonly others: readonly OtherRemover[];
  /** `null`: there is no file. */
  readonly localRules: Promise<LocalRules | null>;
  /** `null` where nobody knows which node this is. */
  readonly policy: Promise<Looked<PolicyFacts>> | null;
  readonly options: NodeSettings;
}

/** What checks repeat of the options. */
interface NodeSettings {
  readonly machineIdFile: string;
  readonly imageLayers: boolean;
  readonly kubeletUrl: string | undefined;
  readonly kubeletConfigFile: string;
  readonly stateDirectory: string;
  readonly localFile: LocalFileOption;
}

/** As a node gets them, and where the kubelet's configuration is. */
type LookedAtOptions = NodeOptions &
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

/** What of the policies holds for this node; `null` where nobody knows which one it is. */
export function policyOfNode(
  name: Looked<NameFacts>,
  policies: () => Promise<Looked<JudgedPolicies>>,
): Promise<Looked<PolicyFacts>> | null {
  if (!name.ok) return null;
  const { labels: nodeLabels, ...node } = name.value;
  return policies().then((found) =>
    found.ok ? { ok: true, value: factsOf(found.value, { ...node, nodeLabels }) } : found,
  );
}

const factsOf = (
  { stored, areSignaturesMissing }: JudgedPolicies,
  node: Parameters<typeof selectPolicy<'node'>>[1],
): PolicyFacts => ({
  selection: selectPolicy(stored.sets.node, node),
  policies: stored.sets.node.policies.length,
  unreadable: stored.unreadable,
  lost: stored.lost,
  areSignaturesMissing,
});
