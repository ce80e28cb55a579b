import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { lockState, openStateDirectory } from '../../../packages/machine/state-directory.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { smallDisk } from '../../support/small-disk.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { addImage, ENFORCE, imagesOf, machine, removals, start } from './machine.ts';

const BOUND_MS = 60_000;

test('a run whose own disk gets full still relieves: it decides, commands and removes', async () => {
  const one = await machine({ images: 5 });
  const disk = smallDisk(100);
  const run = await start(one, ENFORCE, { kept: disk.path, keepsSpace: true });
  await waitUntil('the run to begin', BOUND_MS, () => run.lines.some((line) => line.includes('Policy mine')));
  disk.fill();
  for (let number = 5; number < 9; number += 1) addImage(one.node, number);
  await waitUntil('the first image to be removed', BOUND_MS, () => removals(run).length > 0);
  await waitUntil('the relief to end', BOUND_MS, () => imagesOf(one.node).length === 7);
  await run.stop();
});

test('a run that is started again on a full disk relieves', async () => {
  const one = await machine({ images: 5 });
  const disk = smallDisk(100);
  const options = { kept: disk.path, keepsSpace: true };
  const first = await start(one, ENFORCE, options);
  await waitUntil('the first run to begin', BOUND_MS, () => first.lines.length > 3);
  await first.stop();
  disk.fill();
  for (let number = 5; number < 9; number += 1) addImage(one.node, number);
  const second = await start(one, ENFORCE, options);
  await waitUntil('an image to be removed', BOUND_MS, () => removals(second).length > 0);
  await second.stop();
});

test('a first start on a full disk ends with what to do', async () => {
  const one = await machine({ images: 9 });
  const disk = smallDisk(40);
  disk.fill();
  const failure = await start(one, ENFORCE, { kept: disk.path, keepsSpace: true }).catch((error) => error);
  expect(failure).toBeInstanceOf(FleetGcError);
  expect(failure).toMatchObject({
    code: 'STATE_UNWRITABLE',
    message: expect.stringMatching(
      /disk is full \(free 10 MB on it.*nothing was started; --state-directory names another place/,
    ),
  });
});

test('a state directory on a disk that is read-only ends with what to do', () => {
  const disk = smallDisk(40);
  disk.makeReadOnly();
  expect(() => openStateDirectory(`${disk.path}/state`, 'a machine')).toThrow(
    expect.objectContaining({
      code: 'STATE_UNWRITABLE',
      message: expect.stringMatching(
        /filesystem is read-only; nothing was started; --state-directory names another place/,
      ),
    }),
  );
});

test('a state directory that was made before its filesystem became read-only ends with what to do', () => {
  const disk = smallDisk(40);
  openStateDirectory(`${disk.path}/state`, 'a machine');
  disk.makeReadOnly();
  expect(() => openStateDirectory(`${disk.path}/state`, 'another machine')).toThrow(
    /filesystem is read-only; nothing was started; --state-directory names another place/,
  );
  expect(() => lockState(`${disk.path}/state`, ['agent'])).toThrow(/its filesystem is read-only/);
});

test('what a start on a full disk had begun is gone, and the next one with room goes on', async () => {
  const disk = smallDisk(40);
  disk.fill();
  expect(() => openStateDirectory(`${disk.path}/state`, 'a machine')).toThrow(/disk is full/);
  disk.free();
  const state = openStateDirectory(`${disk.path}/state`, 'a machine');
  expect(readdirSync(state.path).filter((name) => name.endsWith('.new'))).toEqual([]);
  expect(openStateDirectory(`${disk.path}/state`, 'a machine').nodeInstance).toBe(state.nodeInstance);
});
