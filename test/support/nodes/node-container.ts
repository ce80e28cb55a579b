import { join } from 'node:path';
import { Wait } from 'testcontainers';
import { TestContainer } from '../container.ts';
import type { TestNetwork } from '../network.ts';
import { patiently } from '../patience.ts';
import {
  CLUSTER_NODE_IMAGE,
  KUBELET_NODE_IMAGE,
  type NodeRuntime,
  nodeImage,
} from '../toolchain/versions.ts';
import { NODE_RUNTIMES } from './node-runtimes.ts';
import { SOCKET_FOLDER } from './node-socket.ts';

const START_MS = 60_000;
const CHECKOUT = join(import.meta.dirname, '..', '..', '..');
/** Loop devices, and the device that gives them out. */
const LOOP_DEVICES = ['b 7:* rmw', 'c 10:237 rmw'];

export interface NodeOptions {
  readonly runtime?: NodeRuntime;
  /** Its host name, and its name on the network. */
  readonly name?: string;
  /** Size of the one disk that holds images, containers, logs and the state directory. */
  readonly diskMebibytes?: number;
  readonly diskInodes?: number;
  /** A directory of this machine that is the disk, in place of one in memory. */
  readonly diskDirectory?: string;
  readonly network?: TestNetwork;
  /** Whether a kubelet can run on it; then its containerd is 2.4.2, and its disk a block device with ext4. */
  readonly forKubelet?: boolean;
  /** With `forKubelet`: whether its pods have a network of their own, as in a whole cluster. */
  readonly forCluster?: boolean;
}

/** The container that is a node; `sockets` is the folder of this machine in which the runtime's socket appears. */
export function nodeContainer(sockets: string, name: string, options: NodeOptions): TestContainer {
  const { network, runtime = 'containerd-2.4.2' } = options;
  const node = diskedContainer(options)
    .withHostname(name)
    // Not privileged: where the test itself runs in a container, that one need not have every capability.
    .withAddedCapabilities('ALL')
    .withDroppedCapabilities('SYS_RESOURCE')
    .withSecurityOpt('seccomp=unconfined', 'apparmor=unconfined')
    .withBindMounts([
      { source: '/sys/fs/cgroup', target: '/sys/fs/cgroup', mode: 'rw' },
      { source: sockets, target: SOCKET_FOLDER, mode: 'rw' },
      { source: CHECKOUT, target: '/opt/fleetgc', mode: 'ro' },
      ...(options.diskDirectory === undefined
        ? []
        : [{ source: options.diskDirectory, target: '/disk', mode: 'rw' } as const]),
    ])
    .withWaitStrategy(Wait.forLogMessage(NODE_RUNTIMES[runtime].upMessage))
    .withStartupTimeout(patiently(START_MS));
  return network ? node.withNetworkMode(network.name).withNetworkAliases(name) : node;
}

/** The container from its image, with its disk, and `/run` in memory. */
function diskedContainer({
  runtime = 'containerd-2.4.2',
  diskMebibytes = 512,
  diskInodes,
  diskDirectory,
  forKubelet = false,
  forCluster = false,
}: NodeOptions): TestContainer {
  if (forKubelet)
    return new TestContainer(forCluster ? CLUSTER_NODE_IMAGE : KUBELET_NODE_IMAGE)
      .withDeviceRules(LOOP_DEVICES)
      .withEnvironment({ DISK_MEBIBYTES: String(diskMebibytes) })
      .withTmpFs({ '/backing': `rw,size=${diskMebibytes + 8}m`, '/run': 'rw,exec' });
  if (diskDirectory !== undefined)
    return new TestContainer(nodeImage(runtime)).withTmpFs({ '/run': 'rw,exec' });
  const inodes = diskInodes === undefined ? '' : `,nr_inodes=${diskInodes}`;
  return new TestContainer(nodeImage(runtime)).withTmpFs({
    '/disk': `rw,exec,size=${diskMebibytes}m${inodes}`,
    '/run': 'rw,exec',
  });
}
