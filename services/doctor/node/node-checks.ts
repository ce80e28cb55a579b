import { readKubeletFile } from '../../../packages/policy/from-kubelet/kubelet-file.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { type Finding, ok, skipped } from '../finding.ts';
import {
  clockFinding,
  eventLogFinding,
  NOT_REACHED,
  rightsFinding,
  topicsFinding,
} from '../findings/event-log.ts';
import { kubeletFinding, kubeletSettingsFinding } from '../findings/kubelet.ts';
import {
  localFileFinding,
  machineIdFinding,
  nameFinding,
  podLogsFinding,
  stateDirectoryFinding,
  stateLockFinding,
  userFinding,
} from '../findings/machine.ts';
import { filesystemsFinding, imageLayersFinding, runtimeFinding } from '../findings/runtime.ts';
import { keysFinding, policyFinding } from '../findings/steering.ts';
import type { Checks } from '../run-checks.ts';
import type { NodeFacts } from './node-facts.ts';

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
    looksAt: 'who works with the state directory',
    look: ({ locks, options }) => stateLockFinding(options.stateDirectory, locks),
  },
  'local-file': {
    looksAt: 'the node’s own file',
    look: async ({ localRules, options }) => localFileFinding(options.localFile, await localRules),
  },
  'event-log': {
    looksAt: 'whether the event log answers this login',
    look: async ({ servers }) => eventLogFinding(await servers),
  },
  topics: {
    looksAt: 'the topics and their settings',
    look: (facts) =>
      whereReached(facts, async () => topicsFinding(await facts.topics, await knownRights(facts.rights))),
  },
  rights: {
    looksAt: 'what this login may do with topics',
    look: (facts) => whereReached(facts, async () => rightsFinding('node', await facts.rights)),
  },
  clock: {
    looksAt: 'the clock of this machine',
    look: (facts) => whereReached(facts, async () => clockFinding(await facts.clock)),
  },
  keys: { looksAt: 'signatures, roots and keys', look: keys },
  policy: { looksAt: 'which policy or pause holds for this node', look: policy },
} as const satisfies Checks<string, NodeFacts>;

const whereReached = async (
  { servers }: Pick<NodeFacts, 'servers'>,
  look: () => Promise<Finding>,
): Promise<Finding> => ((await servers).ok ? await look() : NOT_REACHED);

async function knownRights(rights: NodeFacts['rights']) {
  const found = await rights;
  return found?.ok ? found.value : null;
}

async function keys(facts: NodeFacts): Promise<Finding> {
  const trust = await facts.trust;
  if (!trust.ok || trust.value === 'off') return keysFinding(trust, null);
  return await whereReached(facts, async () => keysFinding(trust, await facts.keys));
}

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
