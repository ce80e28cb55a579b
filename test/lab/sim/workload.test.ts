import { describe, expect, test } from 'vitest';
import { seededRandom, zipfChoice } from '../../../lab/sim/random.ts';
import { createWorkload, runUntilUsed, runWorkload, type WorkloadEvent } from '../../../lab/sim/workload.ts';
import { simulatedNode } from '../../support/simulated-node.ts';

const BIG = { capacityBytes: 1_000_000_000_000n };

async function eventsOf(seed: number, steps: number): Promise<WorkloadEvent[]> {
  const node = await simulatedNode(BIG);
  const workload = createWorkload({ node, seed, maximumPods: 6 });
  const events: WorkloadEvent[] = [];
  for (let step = 0; step < steps; step += 1) events.push(...(await workload.step()));
  return events;
}

describe('a workload', () => {
  test('is the same with the same seed, and another with another', async () => {
    const events = await eventsOf(1, 20);
    expect(await eventsOf(1, 20)).toEqual(events);
    expect(await eventsOf(2, 20)).not.toEqual(events);
  });

  test('has deployments, crashes, deletions and finished pods', async () => {
    const kinds = new Set((await eventsOf(3, 60)).map(({ kind }) => kind));
    expect([...kinds].toSorted()).toEqual(['crashed', 'deleted', 'deployed', 'finished', 'replaced']);
  });

  test('leaves behind what is to be collected', async () => {
    const node = await simulatedNode(BIG);
    const workload = createWorkload({ node, seed: 3, maximumPods: 6 });
    for (let step = 0; step < 30; step += 1) await workload.step();
    const running = [...node.runtime.containers.values()].filter(({ state }) => state === 'running');
    expect(node.kubelet.pods.size).toBeLessThanOrEqual(6);
    expect(node.runtime.containers.size).toBeGreaterThan(running.length);
    expect(node.runtime.images.size).toBeGreaterThan(15);
  });

  test('goes on when the disk is full, and says so', async () => {
    const node = await simulatedNode({ capacityBytes: 2_000_000_000n });
    const workload = createWorkload({ node, seed: 4, maximumPods: 6 });
    const kinds = new Set<string>();
    for (let step = 0; step < 20; step += 1) for (const { kind } of await workload.step()) kinds.add(kind);
    expect(kinds).toContain('start-failed');
  });

  test('takes one step per tick', async () => {
    const node = await simulatedNode(BIG);
    const told: (readonly WorkloadEvent[])[] = [];
    async function* ticks() {
      yield* [1, 2, 3];
    }
    await runWorkload(createWorkload({ node, seed: 5, maximumPods: 6 }), ticks(), (events) =>
      told.push(events),
    );
    expect(told).toHaveLength(3);
  });

  test('fills the disk as far as it is told', async () => {
    const node = await simulatedNode({ capacityBytes: 20_000_000_000n });
    await runUntilUsed(createWorkload({ node, seed: 6, maximumPods: 6 }), node, {
      percent: 50,
      maximumSteps: 200,
    });
    const { imagefs } = await node.filesystems.read();
    const used = 1 - Number(imagefs?.availableBytes) / Number(imagefs?.capacityBytes);
    expect(used).toBeGreaterThan(0.49);
    expect(used).toBeLessThan(0.65);
  });
});

test('the first of a catalogue is chosen about twice as often as the second', () => {
  const random = seededRandom(1);
  const counts = { a: 0, b: 0, c: 0 };
  for (let draw = 0; draw < 11_000; draw += 1) counts[zipfChoice(random, ['a', 'b', 'c'] as const)] += 1;
  expect(counts.a / 11_000).toBeCloseTo(6 / 11, 1);
  expect(counts.b / 11_000).toBeCloseTo(3 / 11, 1);
});
