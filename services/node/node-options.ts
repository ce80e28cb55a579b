import { join } from 'node:path';
import { z } from 'zod';
import { isEndpoint } from '../../packages/cri/socket-path.ts';
import {
  FilePath,
  Labels,
  Switch,
  Text,
  TextList,
  withMeta,
} from '../../packages/process/options/options.ts';
import { ClusterName, NodeName } from '../../schemas/events/identity.ts';
import type { ExecutorOptions } from './executor/run.ts';

export const USUAL_RUNTIME_ENDPOINT = 'unix:///run/containerd/containerd.sock';
const Endpoint = Text.refine(isEndpoint, { error: 'must be unix:///path/to/socket or an absolute path' });

/** Who this node is and where things are on it; for every verb that runs on a node. */
export const nodeOptions = {
  cluster: withMeta(ClusterName.optional(), {
    placeholder: 'NAME',
    description: 'Name of the cluster; needed on Kafka, "local" without it.',
  }),
  nodeName: withMeta(NodeName.optional(), {
    placeholder: 'NAME',
    description: 'Name of this node; the host name when not given.',
  }),
  nodeLabels: withMeta(Labels.optional(), {
    description:
      'Labels by which policies and pauses select this node; where agent and executor run apart, the same for both.',
  }),
  nodeLabelsFile: withMeta(FilePath.optional(), {
    description: 'File with more labels, one name=value a line.',
  }),
  runtimeEndpoint: withMeta(Endpoint.prefault(USUAL_RUNTIME_ENDPOINT), {
    placeholder: 'ENDPOINT',
    description: "The container runtime's CRI socket.",
  }),
  stateDirectory: withMeta(FilePath.prefault('/var/lib/fleetgc'), {
    placeholder: 'DIRECTORY',
    description: 'Where history and journal are kept; agent and executor of a node share it.',
  }),
  nodefsPath: withMeta(FilePath.optional(), {
    description:
      "A path on the filesystem of the kubelet's directory, to measure it; that directory if there is one, else /.",
  }),
  machineIdFile: withMeta(FilePath.prefault('/etc/machine-id'), {
    description: "The node's machine id; in a container, the node's own file mounted there.",
  }),
  podLogsDir: withMeta(FilePath.prefault('/var/log/pods'), {
    placeholder: 'DIRECTORY',
    description: "Root of the pods' logs, as in the kubelet's configuration.",
  }),
  containerLogsDir: withMeta(FilePath.prefault('/var/log/containers'), {
    placeholder: 'DIRECTORY',
    description: 'Where the symlinks to container logs are.',
  }),
};

/** What containerd tells beside CRI, for whoever looks at its images. */
export const containerdOptions = {
  imageLayers: withMeta(Switch.prefault('true'), {
    description:
      "Do not ask containerd's own API: which layers images share, which were pulled, and what uses them beside CRI. Plans count listed sizes, imported images with a registry in their name may go, and so may what nerdctl or ctr started here runs on.",
  }),
};

/** What only the removing half needs. */
export const executorOptions = {
  localFile: withMeta(FilePath.optional(), {
    description:
      "This node's own rules, which no order can widen (keepPatterns, maxRemovalsPerHour, hold); node.yaml in the state directory when not given. Named, it has to be there.",
  }),
};

/** How to ask the kubelet for its pods; without a URL every pod is unknown, and what might belong to one stays. */
export const kubeletOptions = {
  kubeletUrl: withMeta(
    z.url({ protocol: /^https?$/, error: 'must be a URL such as https://127.0.0.1:10250' }).optional(),
    {
      placeholder: 'URL',
      description:
        'The kubelet of this node, e.g. https://127.0.0.1:10250; without it nothing counts as deleted.',
    },
  ),
  kubeletCaFile: withMeta(FilePath.optional(), {
    description: "Authority of the kubelet's serving certificate, or that certificate itself, PEM.",
  }),
  kubeletServerName: withMeta(Text.optional(), {
    placeholder: 'NAME',
    description: 'Name in that certificate, where it is not the host of the URL.',
  }),
  kubeletCertificateFile: withMeta(FilePath.optional(), {
    description: 'Own certificate for the kubelet, PEM.',
  }),
  kubeletKeyFile: withMeta(FilePath.optional(), { description: 'Key of that certificate, PEM.' }),
  kubeletTokenFile: withMeta(FilePath.optional(), { description: 'Token in place of a certificate.' }),
  podSources: withMeta(
    TextList.pipe(
      z
        .array(z.enum(['api', 'file', 'http'], { error: 'must be some of api, file, http' }))
        .min(1, { error: 'must not be empty' }),
    ).prefault('api'),
    {
      kind: 'list',
      placeholder: 'SOURCE,…',
      description:
        'Where the kubelet gets pods from: api, file, http. A pod is gone only when all have delivered.',
    },
  ),
};

/** For who is agent and executor of a node in one. */
export const wholeNodeOptions = {
  ...nodeOptions,
  ...containerdOptions,
  ...executorOptions,
  ...kubeletOptions,
};

const NodeOptions = z.object(nodeOptions);
export type NodeOptions = z.infer<typeof NodeOptions>;
const ContainerdOptions = z.object(containerdOptions);
export type ContainerdOptions = z.infer<typeof ContainerdOptions>;
const RemovalOptions = z.object({
  stateDirectory: nodeOptions.stateDirectory,
  podLogsDir: nodeOptions.podLogsDir,
  containerLogsDir: nodeOptions.containerLogsDir,
  ...executorOptions,
});

export const toExecutorOptions = ({
  podLogsDir,
  containerLogsDir,
  stateDirectory,
  localFile: named,
}: z.infer<typeof RemovalOptions>): ExecutorOptions => ({
  podLogsDir,
  containerLogsDir,
  localFile: { path: named ?? join(stateDirectory, 'node.yaml'), isNamed: named !== undefined },
});

const KubeletOptions = z.object(kubeletOptions);
export type KubeletOptions = z.infer<typeof KubeletOptions>;
