import { CALL_TIMEOUTS, readerOver } from '../../../../packages/cri/client.ts';
import { readImageLayers } from '../../../../packages/cri/containerd/image-layers.ts';
import { readImageContent } from '../../../../packages/cri/containerd/layer-store.ts';
import { CONTAINERD_METHODS } from '../../../../packages/cri/containerd/methods.ts';
import { otherUsesIn } from '../../../../packages/cri/containerd/other-uses.ts';
import { containerdOver } from '../../../../packages/cri/containerd/reader.ts';
import { podListingIn } from '../../../../packages/cri/kubelet/kubelet-pods.ts';
import { readListing } from '../../../../packages/cri/listing.ts';
import type { CompleteListing } from '../../../../packages/cri/listing-types.ts';
import { METHODS } from '../../../../packages/cri/methods.ts';
import { imageUsage } from '../../../../packages/cri/usage.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { runtimeImage } from '../../../../test/fixtures/listing.ts';
import { type Outcome, PASSED, REFUSED, type Target } from '../../engine/target.ts';
import { type Json, toJson } from '../../mutate/json.ts';
import { schemaOf } from '../../mutate/schema.ts';
import { Pods } from './pods.ts';
import { CONTAINERD_ANSWERS, NODE_ANSWERS, POD } from './seeds.ts';
import { answersOf, answersSchema, connectionAnswering } from './wire.ts';

/** Those that reading a node takes. */
const CRI = {
  status: METHODS.status,
  listImages: METHODS.listImages,
  listPodSandbox: METHODS.listPodSandbox,
  listContainers: METHODS.listContainers,
  containerStatus: METHODS.containerStatus,
  podSandboxStatus: METHODS.podSandboxStatus,
  imageStatus: METHODS.imageStatus,
  imageFsInfo: METHODS.imageFsInfo,
} as const;

const effect = (what: string): Outcome => ({ passed: true, effect: what });

/** The answers of a runtime, from the bytes to what is in use. */
const cri: Target = {
  readers: ['node-agent', 'node-executor', 'plan'],
  schema: schemaOf(answersSchema(CRI)),
  seeds: () => [answersOf(NODE_ANSWERS), answersOf({ ...NODE_ANSWERS, listContainers: { containers: [] } })],
  open: () => async (input) => {
    const reader = readerOver(connectionAnswering(input, CRI), CALL_TIMEOUTS);
    await refusing(() => reader.imageFilesystems());
    const listing = await readListing(reader);
    return listing.status === 'complete' ? judged(listing) : REFUSED;
  },
};

/** What a container names by its id is in use, or nothing may go at all. */
function judged(listing: CompleteListing): Outcome {
  const { users, containersWithoutImage } = imageUsage(listing, []);
  const wrong = listing.containers.find(
    ({ id, imageId }) =>
      users.has(imageId) && users.get(imageId)?.length === 0 && !containersWithoutImage.includes(id),
  );
  return wrong === undefined ? PASSED : effect('the image of a container counts as unused');
}

/** What cannot be read is told with a code. */
async function refusing(read: () => Promise<unknown>): Promise<boolean> {
  try {
    await read();
    return true;
  } catch (error) {
    if (error instanceof FleetGcError && error.code !== 'INTERNAL') return false;
    throw error;
  }
}

/** What containerd's own API tells beside CRI: who else uses images, and what of the disk their layers take. */
const containerd: Target = {
  readers: ['node-agent', 'node-executor'],
  schema: schemaOf(answersSchema(CONTAINERD_METHODS)),
  seeds: () => [answersOf(CONTAINERD_ANSWERS)],
  open: () => async (input) => {
    const source = {
      containerd: containerdOver(connectionAnswering(input, CONTAINERD_METHODS)),
      timeLeftMs: () => 1_000,
    };
    const images = [runtimeImage('a'), runtimeImage('b')];
    const hasUses = await refusing(() =>
      otherUsesIn(source.containerd, () => 0)(images, new Set(['container-1'])),
    );
    const hasLayers = await refusing(async () => {
      const content = await readImageContent(source);
      await readImageLayers(images, content, { ...source, sizes: new Map() });
    });
    return hasUses && hasLayers ? PASSED : REFUSED;
  },
};

/** The kubelet's answer to /pods. */
const kubelet: Target = {
  readers: ['node-agent', 'node-executor'],
  schema: schemaOf(Pods),
  seeds: () => [toJson({ kind: 'PodList', items: [POD] }), toJson({ kind: 'PodList', items: null })],
  open: () => (input) => {
    const pods = podsIn(input);
    if (pods === null) return REFUSED;
    return pods.every(({ uid }) => uid !== '') ? PASSED : effect('a pod without a uid is known');
  },
};

function podsIn(input: Json) {
  // Half of an answer comes where a connection breaks.
  const body = typeof input === 'string' ? input : JSON.stringify(input);
  try {
    return podListingIn(body, 'connection-1').pods;
  } catch (error) {
    const isTold =
      error instanceof SyntaxError || (error instanceof Error && error.message.startsWith(NO_PODS));
    if (isTold) return null;
    throw error;
  }
}

const NO_PODS = 'its answer is no list of pods';

export const ANSWERS: Readonly<Record<string, Target>> = { cri, containerd, kubelet };
