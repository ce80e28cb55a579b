import { DAY_MS } from '../../../packages/process/durations.ts';
import type { ImageHistoryFile } from '../../../schemas/state/image-history.ts';
import { between, evenChoice, zipfChoice } from '../workload/random.ts';
import { type Fleet, type FleetNode, instantAt, stampAt } from './fleet-node.ts';
import { addContainer, addSandbox, newFleetPod } from './fleet-pod.ts';
import { kindOf } from './fleet-workload.ts';
import { hold } from './image-disk.ts';

const LIVED_MS = 10 * DAY_MS;
/** Images of what ran before, which nobody tidied up. */
const OLD_IMAGES = { atLeast: 40, atMost: 100 } as const;
/** How full the disks are, in percent, when the fleet is looked at first. */
const USED = { atLeast: 55, atMost: 84 } as const;
const LEAST_OTHER_PERCENT = 8n;

/** A node as its past left it: pods that have run for a while, images of earlier releases, and a disk filled by both. */
export function setInitialState(fleet: Fleet, node: FleetNode): void {
  const { random, disk } = node;
  for (let left = between(random, OLD_IMAGES.atLeast, OLD_IMAGES.atMost); left > 0; left -= 1) {
    const application = evenChoice(random, fleet.catalogue.applications) ?? fleet.catalogue.applications[0];
    const atMs = -Math.round(random() * LIVED_MS);
    hold(disk, fleet.catalogue.imageAt(application, fleet.epochMs + atMs), atMs);
  }
  for (let left = node.maximumPods; left > 0; left -= 1) startedBefore(fleet, node, left);
  const usedBytes = (disk.capacityBytes * BigInt(between(random, USED.atLeast, USED.atMost))) / 100n;
  const least = (disk.capacityBytes * LEAST_OTHER_PERCENT) / 100n;
  const otherBytes = usedBytes - disk.imageBytes;
  node.other.bytes = Number(otherBytes > least ? otherBytes : least);
}

function startedBefore(fleet: Fleet, node: FleetNode, left: number): void {
  const application = zipfChoice(node.random, fleet.catalogue.applications);
  const atMs = -Math.round((left / node.maximumPods) * LIVED_MS * node.random());
  const image = fleet.catalogue.imageAt(application, fleet.epochMs + atMs);
  hold(node.disk, image, atMs);
  const manifest = { kind: kindOf(node), application, image };
  const pod = newFleetPod(`${node.identity.nodeInstance}/${node.podsMade++}`, manifest);
  const stamp = stampAt(node, fleet, atMs);
  addContainer(pod, addSandbox(pod, stamp).id, stamp, 0n);
  node.pods.set(pod.uid, pod);
}

/** What an agent that ran before would have kept of the images. */
export function initialImageHistory(fleet: Fleet, node: FleetNode): ImageHistoryFile {
  const at = instantAt(node, fleet, 0);
  const used = new Set([...node.pods.values()].map(({ image }) => image.id));
  const sinceBootMs = (fleetMs: number): number => fleetMs - node.bootedMs;
  return {
    version: 1,
    at,
    watchedSinceMs: 0,
    clockSteadySince: at,
    images: [...node.disk.images.values()].map(({ image, sinceMs }) => [
      image.id,
      sinceBootMs(sinceMs),
      used.has(image.id) ? at.sinceBootMs : sinceBootMs(Math.round(sinceMs / 2)),
    ]),
  };
}
