import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readListing } from '../../../packages/cri/listing.ts';
import type {
  RuntimeContainer,
  RuntimeImage,
  RuntimeReader,
  RuntimeSandbox,
} from '../../../packages/cri/port.ts';
import { imageUsage } from '../../../packages/cri/usage.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { digestOf, listedContainer, listedSandbox, runtimeImage } from '../../fixtures/listing.ts';

const NAMES = ['a', 'b', 'c'];

/** A runtime on which others are at work. */
interface World {
  images: readonly RuntimeImage[];
  sandboxes: readonly RuntimeSandbox[];
  containers: readonly RuntimeContainer[];
  created: number;
}

type Change = (world: World) => void;

const pull =
  (name: string): Change =>
  (world) => {
    world.images = [...world.images.filter(({ id }) => id !== digestOf(name)), runtimeImage(name)];
  };

const removeImage =
  (name: string): Change =>
  (world) => {
    world.images = world.images.filter(({ id }) => id !== digestOf(name));
  };

const run =
  (name: string): Change =>
  (world) => {
    pull(name)(world);
    world.created += 1;
    const sandboxId = `sandbox-${world.created}`;
    world.sandboxes = [...world.sandboxes, listedSandbox(sandboxId, { image: 'pause:1' })];
    const container = listedContainer(`container-${world.created}`, { sandboxId, imageId: digestOf(name) });
    world.containers = [...world.containers, container];
  };

const removeOldestPod: Change = (world) => {
  world.sandboxes = world.sandboxes.slice(1);
  world.containers = world.containers.slice(1);
};

const name = fc.constantFrom(...NAMES);
const change: fc.Arbitrary<Change> = fc.oneof(
  name.map(pull),
  name.map(removeImage),
  name.map(run),
  fc.constant(removeOldestPod),
);
/** What happens after each call that the listing makes. */
const meanwhile = fc.array(fc.array(change, { maxLength: 2 }), { maxLength: 12 });

/** Answers with the world as it is, and lets the next changes happen. */
function readerOf(world: World, changes: readonly (readonly Change[])[]): RuntimeReader {
  const left = [...changes];
  const answer = async <T>(value: T): Promise<T> => {
    for (const one of left.shift() ?? []) one(world);
    return value;
  };
  const found = <T extends { readonly id: string }>(objects: readonly T[], id: string): T => {
    const object = objects.find((one) => one.id === id);
    if (object) return object;
    throw new FleetGcError('RUNTIME_NOT_FOUND', `${id}: not found`);
  };
  return {
    version: () => answer({ name: 'runtime', version: '1', apiVersion: 'v1' }),
    status: () => answer({ runtimeReady: true, sandboxImage: 'pause:1' }),
    listImages: () => answer(world.images),
    listSandboxes: () => answer(world.sandboxes),
    listContainers: () => answer(world.containers),
    containerStatus: async (id) => {
      const { state, createdAtNs, imageRef, imageId } = found(world.containers, id);
      const times = { createdAtNs, startedAtNs: 0n, finishedAtNs: 0n };
      return answer({
        id,
        state,
        ...times,
        imageRef,
        imageId,
        logPath: '',
        annotations: {},
        mountedImages: [],
      });
    },
    sandboxStatus: async (id) => answer({ id, state: found(world.sandboxes, id).state, image: 'pause:1' }),
    imageLabels: (id) => answer(found(world.images, id) && {}),
    imageFilesystems: () => answer({ image: [], container: [] }),
    containerEvents: () => {
      throw new FleetGcError('RUNTIME_UNSUPPORTED', 'no events');
    },
  };
}

test('whatever happens meanwhile, no image of a listed container is taken for unused [K2, K5]', async () => {
  const outcomes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 8 }), meanwhile, async (before, changes) => {
      const world: World = { images: [], sandboxes: [], containers: [], created: 0 };
      for (const one of before) one(world);
      const listing = await readListing(readerOf(world, changes));
      outcomes.add(listing.status);
      if (listing.status === 'incomplete') return;
      const { users } = imageUsage(listing, []);
      for (const { id, imageId } of listing.containers)
        expect(users.get(imageId) ?? [{ kind: 'container', id }]).toContainEqual({ kind: 'container', id });
    }),
    // Both outcomes are to come up, in a quick run too.
    { numRuns: 100 },
  );
  expect(outcomes).toEqual(new Set(['complete', 'incomplete']));
});

test('what a complete listing shows was there when it began and when it ended', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 8 }), meanwhile, async (before, changes) => {
      const world: World = { images: [], sandboxes: [], containers: [], created: 0 };
      for (const one of before) one(world);
      const seen: (readonly RuntimeContainer[])[] = [];
      const reader = readerOf(world, changes);
      const listContainers = () => {
        seen.push(world.containers);
        return reader.listContainers();
      };
      const listing = await readListing({ ...reader, listContainers });
      if (listing.status === 'incomplete') return;
      expect(seen.map((containers) => containers.map(({ id }) => id))).toEqual([
        listing.containers.map(({ id }) => id),
        listing.containers.map(({ id }) => id),
      ]);
    }),
  );
});
