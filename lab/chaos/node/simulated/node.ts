import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '../../../../packages/canonical/ids.ts';
import { serveCri } from '../../../../packages/cri/server.ts';
import { linuxClock } from '../../../../packages/machine/clock.ts';
import { createKubelet } from '../../../sim/kubelet.ts';
import { SANDBOX_IMAGE } from '../../../sim/node.ts';
import { containerdHandlers, criHandlers } from '../../../sim/runtime/cri.ts';
import { createDisk } from '../../../sim/runtime/disk.ts';
import { createFaults } from '../../../sim/runtime/faults.ts';
import type { Registry, SimulatedImage } from '../../../sim/runtime/objects.ts';
import { createRuntime, type SimulatedRuntime } from '../../../sim/runtime/runtime.ts';
import { truthFile } from '../../truth.ts';
import { openBallast } from '../ballast.ts';
import { type ChaosNode, USUAL_OTHER_PERCENT } from '../chaos-node.ts';
import { REPOSITORIES } from '../life.ts';
import type { NodeStart } from '../messages.ts';
import { faultyRemovals, noRemovalFaults, type RemovalFaults } from '../removal-faults.ts';
import { lyingHandlers } from './lying-handlers.ts';
import { recordedRuntime } from './recorded-runtime.ts';

const MEBIBYTE = 1024n * 1024n;
const SMALLEST_MEBIBYTES = 3n;
const SPREAD_MEBIBYTES = 6n;
const STRANGER_BYTES = 4096n;
/** Tools and the like, which nobody may remove. */
const PINNED_IMAGE = 'registry.example/shop/pinned:1';

/** A made up runtime. */
export function simulatedNode(
  { name, diskDirectory, socketPath, truthPath, capacityBytes }: NodeStart,
  stopped: RemovalFaults['stopped'],
): ChaosNode {
  const clock = linuxClock();
  const faults = createFaults();
  const removalFaults = noRemovalFaults(stopped);
  const write = truthFile(truthPath);
  const capacity = BigInt(capacityBytes);
  const otherBytes = (capacity * USUAL_OTHER_PERCENT) / 100n;
  const podLogs = {
    podLogsDir: join(diskDirectory, 'pods'),
    containerLogsDir: join(diskDirectory, 'containers'),
  };
  for (const directory of Object.values(podLogs)) mkdirSync(directory, { recursive: true });
  const disk = createDisk({
    options: { capacityBytes: capacity, otherBytes },
    mountpoint: diskDirectory,
    clock,
    faults,
  });
  const ballast = openBallast(join(diskDirectory, 'ballast'));
  const runtime = createRuntime({
    name,
    clock,
    disk,
    faults,
    registry: smallImages,
    sandboxImage: SANDBOX_IMAGE,
    logBytes: () => 0n,
  });
  const usedPercent = (): number => Number((disk.usedBytes(0n) * 10_000n) / capacity) / 100;
  let weighed = -1n;
  const weigh = (): void => {
    const usedBytes = disk.usedBytes(0n);
    if (usedBytes === weighed) return;
    weighed = usedBytes;
    ballast.weigh(Number(usedBytes));
    write({ kind: 'disk', usedPercent: usedPercent() });
  };
  const recording = { write, usedPercent, changed: weigh };
  const byLife = recordedRuntime(runtime, 'life', recording);
  for (const reference of [SANDBOX_IMAGE, PINNED_IMAGE]) byLife.addImage(pinned(reference));
  const byCri = recordedRuntime(runtime, 'cri', recording);
  const removals = faultyRemovals(removalFaults, write);
  const cri = criHandlers({ runtime: byCri, faults, age: 'current', mountpoint: diskDirectory });
  return {
    kubelet: createKubelet({ nodeName: name, runtime: byLife, faults, podLogs }),
    faults,
    removalFaults,
    differentImages: Number.MAX_SAFE_INTEGER,
    disk: {
      capacityBytes: capacity,
      usualBytes: otherBytes,
      get otherBytes() {
        return disk.otherBytes;
      },
      set otherBytes(bytes) {
        disk.otherBytes = bytes;
      },
      usedBytes: () => disk.usedBytes(0n),
      weigh,
    },
    imageNames: async () => [...runtime.images.values()].flatMap(({ repoTags }) => repoTags.slice(0, 1)),
    exchangeStrangers: createStrangers(runtime),
    serve: () => serveCri(socketPath, lyingHandlers(cri, removals), containerdHandlers(runtime, faults)),
  };
}

/** Past the record of the truth: nobody asks later what became of these. */
function createStrangers(
  runtime: Pick<SimulatedRuntime, 'addImage' | 'removeImage'>,
): (images: number) => void {
  let there: readonly SimulatedImage[] = [];
  let seen = 0;
  return (images) => {
    for (const { id } of there) runtime.removeImage(id);
    there = Array.from({ length: images }, (_, index) => {
      const reference = `${REPOSITORIES.always}/stranger-${seen + index}:1`;
      return { ...pinned(reference), sizeBytes: STRANGER_BYTES, pinned: false };
    });
    seen += images;
    for (const image of there) runtime.addImage(image);
  };
}

/** Has every image that is asked for; they fill a small disk in some steps. */
const smallImages: Registry = (reference) => {
  const hash = sha256Hex(reference);
  const mebibytes = SMALLEST_MEBIBYTES + (BigInt(`0x${hash.slice(0, 8)}`) % SPREAD_MEBIBYTES);
  return {
    id: `sha256:${hash}`,
    digest: `sha256:${sha256Hex(hash)}`,
    sizeBytes: mebibytes * MEBIBYTE,
    labels: {},
  };
};

const pinned = (reference: string) => ({
  id: `sha256:${sha256Hex(reference)}`,
  repoTags: [reference],
  repoDigests: [
    `${reference.slice(0, reference.lastIndexOf(':'))}@sha256:${sha256Hex(`digest of ${reference}`)}`,
  ],
  sizeBytes: MEBIBYTE,
  pinned: true,
  isPulled: true,
  labels: {},
});
