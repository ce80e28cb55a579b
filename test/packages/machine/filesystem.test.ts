import { mkdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RuntimeImageFilesystems } from '../../../packages/cri/port.ts';
import { createStatfsReader, readingOf } from '../../../packages/machine/filesystem.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { PATIENT } from '../../support/patience.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const filesystem = (mountpoint: string) => ({ mountpoint, usedBytes: null, inodesUsed: null });

const reader = (
  imageFilesystems: () => Promise<RuntimeImageFilesystems>,
  { nodefs = '/', hostRoot = '/', nowMs = (): number => 0 } = {},
) => createStatfsReader({ nodefs, hostRoot, nowMs, imageFilesystems });

const says =
  (image: string[], container: string[] = []) =>
  () =>
    Promise.resolve({ image: image.map(filesystem), container: container.map(filesystem) });

test('each filesystem is measured where the runtime says it is', async () => {
  const image = temporaryDirectory();
  const { nodefs, imagefs, containerfs } = await reader(says([image], ['/proc'])).read();

  expect(nodefs?.mountpoint).toBe('/');
  expect(imagefs).toMatchObject({
    mountpoint: image,
    capacityBytes: String(BigInt(statfsSync(image).blocks) * BigInt(statfsSync(image).bsize)),
  });
  expect(containerfs?.mountpoint).toBe('/proc');
  expect(containerfs?.device).not.toBe(imagefs?.device);
});

test('the containers lie with the images where the runtime names no place for them', async () => {
  const image = temporaryDirectory();
  const { containerfs } = await reader(says([image])).read();
  expect(containerfs?.mountpoint).toBe(image);
});

test("paths are looked up under the node's root as this container sees it", async () => {
  const hostRoot = temporaryDirectory();
  mkdirSync(join(hostRoot, 'images'));
  const { imagefs, nodefs } = await reader(says(['/images']), {
    hostRoot,
    nodefs: '/var/lib/kubelet',
  }).read();
  expect(imagefs?.mountpoint).toBe('/images');
  expect(nodefs).toBeNull();
});

test.each([
  ['the path is missing', says(['/nowhere/images'])],
  ['the runtime names no place', says([])],
  ['the runtime names an empty place', says([''])],
  ['the runtime does not answer', () => Promise.reject(new FleetGcError('RUNTIME_TIMEOUT', 'no answer'))],
])('the image filesystem is unknown when %s', async (_name, imageFilesystems) => {
  const { nodefs, imagefs, containerfs } = await reader(imageFilesystems).read();
  expect(nodefs).not.toBeNull();
  expect([imagefs, containerfs]).toEqual([null, null]);
});

test('what the runtime said holds while it does not answer, and is asked again after a minute', async () => {
  let now = 0;
  let answer = says(['/dev']);
  const { read } = reader(() => answer(), { nowMs: () => now });
  expect((await read()).imagefs?.mountpoint).toBe('/dev');

  answer = () => Promise.reject(new FleetGcError('RUNTIME_MISSING', 'gone'));
  now = 60_000;
  expect((await read()).imagefs?.mountpoint).toBe('/dev');

  answer = says(['/dev/shm']);
  await read();
  await expect.poll(async () => (await read()).imagefs?.mountpoint, PATIENT).toBe('/dev/shm');
});

const stats = (over = {}) => ({
  type: 0n,
  bsize: 4096n,
  frsize: 4096n,
  blocks: 100n,
  bfree: 50n,
  bavail: 40n,
  files: 10n,
  ffree: 4n,
  ...over,
});

test('[A1] available is what an unprivileged process may still use', () => {
  expect(readingOf('/', stats(), 7n)).toEqual({
    mountpoint: '/',
    device: '7',
    capacityBytes: '409600',
    availableBytes: '163840',
    inodes: '10',
    inodesFree: '4',
  });
});

test.each([
  [
    '[A2] a filesystem without inode accounting has no inodes, not zero',
    { files: 0n, ffree: 0n },
    { inodes: null, inodesFree: null },
  ],
  ['a negative count is not believed', { bavail: -1n }, { availableBytes: null }],
  ['a count beyond 64 bits is not believed', { blocks: 2n ** 60n }, { capacityBytes: null }],
  ['2^53 and more keeps every digit', { blocks: 2n ** 51n + 1n }, { capacityBytes: '9223372036854779904' }],
])('%s', (_name, over, expected) => {
  expect(readingOf('/', stats(over), 7n)).toMatchObject(expected);
});

test.each([
  [
    'there is no such path',
    says(['/nowhere/images']),
    /imagefs cannot be measured: \/nowhere\/images .*there is no such file/,
  ],
  ['the path is relative', says(['var/lib/images']), /imagefs .*relative path "var\/lib\/images"/],
  ['the path is empty', says(['']), /imagefs .*without a path/],
  ['nothing is listed', says([]), /imagefs .*lists no filesystem of its images/],
  [
    'the runtime does not answer',
    () => Promise.reject(new FleetGcError('RUNTIME_TIMEOUT', 'no answer')),
    /imagefs .*no answer/,
  ],
])('why the image filesystem cannot be measured is told once: %s', async (_name, imageFilesystems, why) => {
  const told: (readonly string[])[] = [];
  const measuring = createStatfsReader({
    nodefs: '/',
    hostRoot: '/',
    nowMs: () => 0,
    imageFilesystems,
    onUnmeasured: (problems) => told.push(problems),
  });
  const { imagefs } = await measuring.read();
  await measuring.read();
  expect(imagefs).toBeNull();
  expect(told).toEqual([[expect.stringMatching(why), expect.stringMatching(/^The filesystem containerfs /)]]);
});
