import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { connectReader, connectRemover, runtimeImage } from '../../../../packages/cri/client.ts';
import { METHODS as CRI } from '../../../../packages/cri/methods.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { connectWorkload } from '../../../../test/support/nodes/cri-workload.ts';
import { type CallFault, createFaults, type Faults } from '../../../sim/runtime/faults.ts';
import { DIFFERENT_IMAGES } from '../../fleet/image-source.ts';
import { truthFile } from '../../truth.ts';
import type { ChaosNode } from '../chaos-node.ts';
import { METHODS, type NodeStart } from '../messages.ts';
import { faultyRemovals, noRemovalFaults, type RemovalFaults, type Remove } from '../removal-faults.ts';
import { RuntimeAccount } from './account.ts';
import { ContainerdDisk } from './disk.ts';
import { type Between, serveForwarded } from './forwarder.ts';
import { ContainerdKubelet } from './kubelet.ts';

type ContainerdStart = NodeStart & { readonly runtimeEndpoint: string };

/** Where the node's containerd has its part of the disk, and what that is called on the disk. */
const ROOT_IN_NODE = '/var/lib/containerd';
const ROOT_ON_DISK = 'containerd';

/** A real containerd, whose socket agent and executor reach through a forwarder that keeps its account and plays the faults. */
export async function containerdNode(
  { name, diskDirectory, socketPath, truthPath, capacityBytes, runtimeEndpoint }: ContainerdStart,
  stopped: RemovalFaults['stopped'],
): Promise<ChaosNode> {
  const write = truthFile(truthPath);
  const faults = createFaults();
  const removalFaults = noRemovalFaults(stopped);
  const reader = connectReader(runtimeEndpoint);
  const disk = new ContainerdDisk(diskDirectory, BigInt(capacityBytes), write);
  const usedPercent = (): number => disk.usedPercent();
  const account = new RuntimeAccount({ reader, write, usedPercent, weigh: () => disk.tell() });
  disk.isAccounted = () => account.isRemoving;
  await account.hold('life', async () => undefined);
  const logs = {
    podLogsDir: join(diskDirectory, 'pods'),
    containerLogsDir: join(diskDirectory, 'containers'),
  };
  for (const directory of Object.values(logs)) await mkdir(directory, { recursive: true });
  const kubelet = new ContainerdKubelet({
    nodeName: name,
    account,
    reader,
    logs,
    workload: connectWorkload(runtimeEndpoint),
    remover: connectRemover(runtimeEndpoint),
  });
  const between = new FaultyWay({
    account,
    faults,
    disk,
    remove: faultyRemovals(removalFaults, write),
    diskDirectory,
  });
  return {
    kubelet,
    faults,
    removalFaults,
    disk,
    differentImages: DIFFERENT_IMAGES,
    imageNames: async () =>
      (await reader.listImages())
        .filter(({ pinned }) => !pinned)
        .flatMap(({ repoTags }) => repoTags.slice(0, 1)),
    exchangeStrangers: () => {
      throw new Error('strangers are made up, and so is the runtime that has them');
    },
    serve: () => serveForwarded(socketPath, runtimeEndpoint, between),
  };
}

interface WayParts {
  readonly account: RuntimeAccount;
  readonly faults: Faults;
  readonly disk: ContainerdDisk;
  readonly remove: Remove;
  readonly diskDirectory: string;
}

type Forward = () => Promise<unknown>;

/** What the faults make of the way between the product and the runtime. */
class FaultyWay implements Between {
  readonly #parts: WayParts;

  constructor(parts: WayParts) {
    this.#parts = parts;
  }

  readonly stream = async (name: string): Promise<void> => void (await this.#meet(name));

  readonly call = async (name: string, request: unknown, forward: Forward): Promise<unknown> => {
    const { account, remove } = this.#parts;
    const removing = async (): Promise<unknown> => {
      await this.#meet(name);
      return this.#removed(forward);
    };
    switch (name) {
      case 'removeImage':
        return remove(name, CRI[name].request.parse(request).image?.image ?? '', removing);
      case 'removeContainer':
        return remove(name, CRI[name].request.parse(request).containerId, removing);
      case 'removePodSandbox':
        return remove(name, CRI[name].request.parse(request).podSandboxId, removing);
      case 'stopPodSandbox':
      case 'stopContainer':
        await this.#meet(name);
        return account.hold('cri', forward);
      default:
        return this.#read(name, forward);
    }
  };

  #removed(forward: Forward): Promise<unknown> {
    const { account, disk, faults } = this.#parts;
    return account.hold('cri', () => disk.freeLate(faults.freeLateMs, forward));
  }

  async #read(name: string, forward: Forward): Promise<unknown> {
    const { account, diskDirectory } = this.#parts;
    const fault = await this.#meet(name);
    const answer = name === 'listImages' ? await noted(account, forward) : await forward();
    if (name === 'imageFsInfo') return asThisMachineSees(diskDirectory, answer);
    return fault?.kind === 'half' ? halved(answer) : answer;
  }

  async #meet(name: string): Promise<CallFault | undefined> {
    const faulty = METHODS.find((method) => method === name);
    const fault = faulty === undefined ? undefined : await this.#parts.faults.meet(faulty);
    if (fault?.kind === 'error') throw new FleetGcError('RUNTIME_FAILED', fault.message);
    return fault;
  }
}

async function noted(account: RuntimeAccount, forward: Forward): Promise<unknown> {
  let answer: unknown;
  await account.noting(async () => {
    answer = await forward();
    return CRI.listImages.response.parse(answer).images.map(runtimeImage);
  });
  return answer;
}

/** The one list of an answer without its second half. */
const halved = (answer: unknown): unknown =>
  Object.fromEntries(
    Object.entries(z.record(z.string(), z.array(z.unknown())).parse(answer)).map(([field, items]) => [
      field,
      items.slice(0, Math.floor(items.length / 2)),
    ]),
  );

const Filesystems = z.array(z.looseObject({ fsId: z.object({ mountpoint: z.string() }).nullable() }));
const FilesystemsInfo = z.object({ imageFilesystems: Filesystems, containerFilesystems: Filesystems });

/** The same filesystems by the paths under which the product, which runs outside of the node, can measure them. */
function asThisMachineSees(diskDirectory: string, answer: unknown): unknown {
  const here = (mountpoint: string): string =>
    mountpoint.startsWith(ROOT_IN_NODE)
      ? join(diskDirectory, ROOT_ON_DISK, mountpoint.slice(ROOT_IN_NODE.length))
      : mountpoint;
  const told = (all: z.infer<typeof Filesystems>) =>
    all.map(({ fsId, ...others }) => ({ ...others, fsId: fsId && { mountpoint: here(fsId.mountpoint) } }));
  const { imageFilesystems, containerFilesystems } = FilesystemsInfo.parse(answer);
  return {
    imageFilesystems: told(imageFilesystems),
    containerFilesystems: told(containerFilesystems),
  };
}
