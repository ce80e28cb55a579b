import type { Need } from '../toolchain/toolchain.ts';
import type { NodeRuntime } from '../toolchain/versions.ts';
import { SOCKET_FOLDER } from './node-socket.ts';

/** An archive of images that lies on the node. */
interface Import {
  readonly archive: string;
  /** Of the image in it. */
  readonly name: string;
  readonly withDigest: boolean;
}

/** What a test does to a runtime beside CRI, as commands inside its node. */
interface NodeRuntimeRow {
  readonly needs: readonly Need[];
  /** Where its socket lies inside the node, as `fleetgc node` is told where that is not its default. */
  readonly nodeArgs: readonly string[];
  /** What the node's container writes when its runtime can soon be asked. */
  readonly upMessage: RegExp;
  readonly imageIdOf: (configurationDigest: string) => string;
  readonly importing: (what: Import) => readonly string[];
  readonly tagging: (reference: string, another: string) => readonly string[];
  /** Ends the process of a container, as a crash or the OOM killer would. */
  readonly killing: (containerId: string) => readonly string[];
}

/** A command of containerd's own client, in the namespace of CRI. */
export const ctr = (...words: readonly string[]): readonly string[] => [
  ...['ctr', '-a', `${SOCKET_FOLDER}/containerd.sock`, '-n', 'k8s.io'],
  ...words,
];

const CONTAINERD: Omit<NodeRuntimeRow, 'needs'> = {
  nodeArgs: [],
  upMessage: /containerd successfully booted/,
  imageIdOf: (digest) => digest,
  importing: ({ archive, name, withDigest }) => {
    const digests = withDigest ? ['--digests', '--base-name', name.replace(/:[^:/]*$/, '')] : [];
    return ctr('images', 'import', ...digests, archive);
  },
  tagging: (reference, another) => ctr('images', 'tag', reference, another),
  killing: (containerId) => ctr('task', 'kill', '--signal', 'SIGKILL', containerId),
};

/** The runtimes of test nodes. */
export const NODE_RUNTIMES: Readonly<Record<NodeRuntime, NodeRuntimeRow>> = {
  'containerd-2.4.2': { ...CONTAINERD, needs: ['containerd'] },
  'containerd-1.6': { ...CONTAINERD, needs: ['containerd', 'containerd-1.6'] },
  'crio-1.34': {
    needs: ['crio'],
    nodeArgs: ['--runtime-endpoint', 'unix:///run/crio/crio.sock'],
    upMessage: /the socket of CRI-O is there/,
    imageIdOf: (digest) => digest.replace('sha256:', ''),
    // podman works on the storage of CRI-O.
    importing: ({ archive }) => ['podman', 'load', '--quiet', '--input', archive],
    tagging: (reference, another) => ['podman', 'tag', reference, another],
    killing: (containerId) => ['runc', '--root', '/run/runc', 'kill', containerId, 'KILL'],
  },
};
