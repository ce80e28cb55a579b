import { expect, test } from 'vitest';
import type {
  RuntimeContainer,
  RuntimeImage,
  RuntimeReader,
  RuntimeSandbox,
} from '../../../../packages/cri/port.ts';
import { listedContainer, listedSandbox, runtimeImage } from '../../../../test/fixtures/listing.ts';
import { RuntimeAccount } from './account.ts';

/** A runtime that lists what the test says, and what was written down of it: kinds and ids, with the hand that took them away. */
function accountOf() {
  const world = {
    images: [] as RuntimeImage[],
    containers: [] as RuntimeContainer[],
    sandboxes: [] as RuntimeSandbox[],
  };
  const reader: Pick<RuntimeReader, 'listImages' | 'listContainers' | 'listSandboxes'> = {
    listImages: async () => [...world.images],
    listContainers: async () => [...world.containers],
    listSandboxes: async () => [...world.sandboxes],
  };
  const told: string[] = [];
  const account = new RuntimeAccount({
    reader,
    usedPercent: () => 85,
    weigh: () => told.push('weighed'),
    write: (line) =>
      told.push('id' in line ? `${line.kind} ${line.id}${'by' in line ? ` ${line.by}` : ''}` : line.kind),
  });
  return { world, account, told };
}

const nothing = async (): Promise<void> => undefined;

test('what is gone went by the hand that held the account', async () => {
  const { world, account, told } = accountOf();
  Object.assign(world, {
    images: [runtimeImage('a'), runtimeImage('b')],
    containers: [listedContainer('c')],
    sandboxes: [listedSandbox('s')],
  });
  const [a, b] = world.images.map(({ id }) => id);
  await account.hold('life', nothing);
  expect(told.splice(0)).toEqual([
    `image ${a}`,
    `image ${b}`,
    'sandbox s',
    'container c',
    'container-state c',
    'weighed',
  ]);
  await account.hold('cri', async () => void world.images.pop());
  await account.hold('life', async () => void world.containers.pop());
  expect(told).toEqual([`image-gone ${b} cri`, 'weighed', 'container-gone c life', 'weighed']);
});

test('one hand acts at a time', async () => {
  const { world, account, told } = accountOf();
  world.images = [runtimeImage('a')];
  const [id] = world.images.map((image) => image.id);
  await account.hold('life', nothing);
  told.length = 0;
  const first = Promise.withResolvers<void>();
  const removal = account.hold('cri', () => first.promise);
  const pull = account.hold('life', async () => void world.images.pop());
  first.resolve();
  await Promise.all([removal, pull]);
  expect(told).toEqual(['weighed', `image-gone ${id} life`, 'weighed']);
});

test('an act that fails is told with what it did all the same', async () => {
  const { world, account, told } = accountOf();
  world.images = [runtimeImage('a')];
  await account.hold('life', nothing);
  const act = async (): Promise<void> => {
    world.images = [];
    throw new Error('the connection was lost');
  };
  await expect(account.hold('cri', act)).rejects.toThrow('the connection was lost');
  expect(told).toContainEqual(expect.stringMatching(/^image-gone .* cri$/));
});

test('an image is there when somebody lists it, but for a list that was taken beside a removal', async () => {
  const { world, account, told } = accountOf();
  const listed = [runtimeImage('a')];
  await account.noting(async () => listed);
  expect(told).toEqual([expect.stringMatching(/^image /)]);
  world.images = [];
  await account.noting(async () => {
    await account.hold('cri', nothing);
    told.length = 0;
    return listed;
  });
  expect(told).toEqual([]);
});
