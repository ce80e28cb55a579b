import { readKubeletFile } from '../../../packages/policy/from-kubelet/kubelet-file.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { type Finding, ok, skipped } from '../finding.ts';
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
import { policyFinding } from '../findings/steering.ts';
import { logChecks, whereReached } from '../log/log-checks.ts';
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
