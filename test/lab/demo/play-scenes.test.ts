import { expect, test } from 'vitest';
import { type ClusterNews, playScenes, type Scene, Settled } from '../../../lab/demo/cluster.ts';
import { Deeds, SimulatedCluster } from '../../../lab/sim/api-server/cluster.ts';
import { nextLook } from '../../support/next-look.ts';

const news = (...ends: readonly string[]): ClusterNews => ({
  kind: 'cluster-done',
  steps: [],
  lines: [],
  ends,
});
const scene = (command: string, ...ends: readonly string[]): Scene => ({
  command,
  why: [],
  act: () => undefined,
  ends,
});

/** Scenes that are being played; `late` ends the wait for the scene that is on. */
function play(...scenes: readonly Scene[]) {
  const settled = new Settled();
  const played: string[] = [];
  const stop = new AbortController();
  let late: () => void = () => undefined;
  const wait = (_: number, signal?: AbortSignal): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    late = resolve;
    signal?.addEventListener('abort', () => resolve());
    return promise;
  };
  const deeds = new Deeds(new SimulatedCluster({ now: () => 0, newId: () => 'uid' }));
  const announce = ({ command }: Scene): void => void played.push(command);
  const ended = playScenes(scenes, { deeds, settled, announce, sources: { wait } }, stop.signal);
  const look = async (): Promise<readonly string[]> => {
    for (let each = 0; each < 10; each++) await nextLook(each);
    return [...played];
  };
  return { settled, stop, ended, look, late: () => late() };
}

test('a scene begins when all that follows from the one before was told, in any order', async () => {
  const { settled, ended, look } = play(scene('first', 'a', 'b'), scene('second', 'a', 'c'));
  settled.note(news('b'));
  expect(await look()).toEqual(['first']);
  settled.note(news('x', 'a'));
  expect(await look()).toEqual(['first', 'second']);
  settled.note(news('c'));
  await expect(ended).resolves.toBeUndefined();
});

test('what never comes ends the demo and says which scene it was', async () => {
  const { ended, look, late } = play(scene('first', 'a'));
  await look();
  late();
  await expect(ended).rejects.toMatchObject({ code: 'TIMEOUT', message: expect.stringContaining('"first"') });
});

test('whoever stops it waits for nothing', async () => {
  const { ended, look, stop } = play(scene('first', 'a'), scene('second', 'b'));
  await look();
  stop.abort();
  await expect(ended).resolves.toBeUndefined();
  expect(await look()).toEqual(['first']);
});
