import { describe, expect, test } from 'vitest';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { PassFailed } from '../../../../schemas/events/result.ts';
import { containerRemoval, imageRemoval } from '../../../fixtures/command.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { addContainer, addImages, type ExecutorNode, executorNode } from './support/executor-node.ts';

const problems = ({ published }: ExecutorNode): string[] =>
  published.flatMap((event) => (event.type === 'fleetgc.node.pass-failed' ? [event.problem] : []));

/** Removals whose call holds this text fail. */
function failing(node: ExecutorNode, text: string): void {
  node.runtime.before = (call) => {
    if (call.startsWith('remove') && call.includes(text)) throw new FleetGcError('RUNTIME_FAILED', 'busy');
  };
}

const forced = reclaim({
  cause: { ...reclaim().cause, signal: 'imagefs.available' },
  target: { filesystem: 'imagefs', resource: 'availableBytes', atLeast: '1001' },
  round: 5,
});

/** Carries out one command for each image, one after the other: `x…` fails, others go; `…!` is forced by a signal. */
async function passes(node: ExecutorNode, names: readonly string[]): Promise<void> {
  const executor = node.start();
  for (const name of names) {
    const [id = ''] = addImages(node, [name]);
    failing(node, name.startsWith('x') ? id : 'nothing');
    const takenAt = { ...node.clock.now() };
    const over = name.endsWith('!') ? { reclaim: forced } : {};
    await executor.carryOut(imageRemoval([id], { id: `command-${name}`, takenAt, ...over }));
    node.clock.advance(100);
  }
  await executor.stop();
}

describe('[D19] a pass of images that failed', () => {
  test.each<{ name: string; given: readonly string[]; told: readonly string[] }>([
    { name: 'once is not told', given: ['x1'], told: [] },
    { name: 'twice in a row is told', given: ['x1', 'x2'], told: ['image-gc-failed'] },
    {
      name: 'is told each further time',
      given: ['x1', 'x2', 'x3'],
      told: ['image-gc-failed', 'image-gc-failed'],
    },
    { name: 'after one that did not fail is not told', given: ['x1', 'a', 'x2'], told: [] },
    { name: '[F3, F4] and was forced is not told', given: ['x1', 'x2!'], told: [] },
    { name: 'after a forced one that failed is not told', given: ['x1!', 'x2'], told: [] },
    {
      name: 'is told when a forced one came between, failed or not',
      given: ['x1', 'x2!', 'a!', 'x3'],
      told: ['image-gc-failed'],
    },
  ])('$name', async ({ given, told }) => {
    const node = executorNode();
    await passes(node, given);
    expect(problems(node)).toEqual(told);
  });

  test('is remembered over a restart', async () => {
    const node = executorNode();
    await passes(node, ['x1']);
    await passes(node, ['x2']);
    expect(problems(node)).toEqual(['image-gc-failed']);
  });
});

test('[D20, D21] a pass of containers that failed is told each time, and says nothing of images', async () => {
  const node = executorNode();
  addContainer(node, 'dead');
  failing(node, 'dead');
  const executor = node.start();
  await executor.carryOut(containerRemoval(['dead']));
  await executor.stop();
  expect(problems(node)).toEqual(['container-gc-failed']);
  await passes(node, ['x1']);
  expect(problems(node)).toEqual(['container-gc-failed']);
});

describe('[D17] a reclaim that', () => {
  const wants = (atLeast: string, round = 5) => ({
    reclaim: reclaim({ round, target: { filesystem: 'imagefs', resource: 'availableBytes', atLeast } }),
  });

  async function ended(atLeast: string, round?: number) {
    const node = executorNode();
    node.runtime.otherBytes = 100n;
    const ids = addImages(node, ['a', 'b']);
    failing(node, ids[0] ?? '');
    const executor = node.start();
    await executor.carryOut(imageRemoval(ids, wants(atLeast, round)));
    await executor.stop();
    return node;
  }

  test('[D15, D18, M18] ends above its target is told with errors and bytes, both', async () => {
    const node = await ended('1000');
    const [told] = node.published.filter(({ type }) => type === 'fleetgc.node.pass-failed');
    expect(PassFailed.parse(told)).toMatchObject({
      problem: 'free-disk-space-failed',
      removed: 1,
      failed: 1,
      measured: { filesystem: 'imagefs', beforeBytes: '880', afterBytes: '890' },
      target: { atLeast: '1000' },
      message:
        '1 of 2 removed, 1 failed; 10 bytes freed on imagefs, 890 available; wanted: availableBytes of imagefs at least 1000',
    });
    expect(problems(node)).toEqual(['free-disk-space-failed']);
  });

  test('[D18] says so where something else filled the disk meanwhile', async () => {
    const node = executorNode();
    node.runtime.after = (call) => {
      if (call.startsWith('removeImage')) node.runtime.otherBytes = 500n;
    };
    const executor = node.start();
    const ids = addImages(node, ['a', 'b']);
    failing(node, ids[0] ?? '');
    await executor.carryOut(imageRemoval(ids, wants('1000')));
    await executor.stop();
    const [told] = node.published.filter(({ type }) => type === 'fleetgc.node.pass-failed');
    expect(told).toMatchObject({
      message:
        '1 of 2 removed, 1 failed; what was freed on imagefs is not measurable, since something else filled it meanwhile, 10 bytes by estimate, 490 available; wanted: availableBytes of imagefs at least 1000',
    });
  });

  test('reaches its target is not told', async () => {
    expect(problems(await ended('890'))).toEqual([]);
  });

  test('nobody could measure is not told', async () => {
    const node = executorNode();
    node.runtime.before = (call) => {
      if (call === 'statfs') throw new Error('nobody foresaw this');
    };
    const executor = node.start();
    await executor.carryOut(imageRemoval(addImages(node, ['a']), wants('1000')));
    await executor.stop();
    expect(node.published.map(({ type }) => type)).toContain('fleetgc.node.pressure-unrelieved');
    expect(problems(node)).toEqual([]);
  });

  test('[F3] an eviction signal forced is not told, other than by what holds the space', async () => {
    const node = executorNode();
    node.runtime.otherBytes = 100n;
    await passes(node, ['a!']);
    expect(node.published.map(({ type }) => type)).toContain('fleetgc.node.pressure-unrelieved');
    expect(problems(node)).toEqual([]);
  });

  test('goes on with another round is not told yet', async () => {
    expect(problems(await ended('1000', 1))).toEqual([]);
  });
});
