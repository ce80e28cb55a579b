import { describe, expect, test } from 'vitest';
import type { Command } from '../../../../schemas/events/command.ts';
import { containerRemoval } from '../../../fixtures/command.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { BOOT_B } from '../../../support/manual-clock.ts';
import { dead } from './support/looked.ts';
import { type RemovalNode, removalNode } from './support/removal-node.ts';

const COMMAND = containerRemoval(['dead'], { lifetimeMs: 600_000 });

/** A node that holds the container `dead`, and plans for a command that names it. */
function planning(command: Command = COMMAND) {
  const node = removalNode();
  node.runtime.containers.set('dead', dead());
  const plan = node.planner.plansFor(command);
  const [item] = command.items;
  if (item === undefined) throw new Error('a command has an item');
  return { node, plan, verdict: async () => (await plan()).itemOf(item) };
}

const plansMade = ({ steps }: RemovalNode): number => steps.filter((step) => step === 'plan').length;

describe("a node's own plan", () => {
  test('names what may go by its own facts', async () => {
    expect(await planning().verdict()).toMatchObject({ kind: 'container', id: 'dead' });
  });

  test.each([
    { name: 'serves for 10 s', pass: 10_000, made: 1 },
    { name: 'is made anew after that', pass: 10_001, made: 2 },
  ])('$name', async ({ pass, made }) => {
    const { node, plan } = planning();
    const first = await plan();
    node.clock.advance(pass);
    const second = await plan();
    expect(plansMade(node)).toBe(made);
    expect(second === first).toBe(made === 1);
  });

  test('is made anew once it grew old again', async () => {
    const { node, plan } = planning();
    for (let count = 0; count < 3; count++) {
      await plan();
      await plan();
      node.clock.advance(10_001);
    }
    expect(plansMade(node)).toBe(3);
  });

  test('is as old as the end of its scan: a slow one is not made before each object', async () => {
    const { node, plan } = planning();
    node.at = (step) => {
      if (step === 'plan') node.clock.advance(60_000);
    };
    await plan();
    await plan();
    expect(plansMade(node)).toBe(1);
  });

  test('of another boot tells nothing', async () => {
    const { node, plan, verdict } = planning();
    await plan();
    node.clock.reboot(BOOT_B, 1_000);
    expect(await verdict()).toMatchObject({ reason: 'other-boot' });
  });

  test('without an inventory lets nothing go', async () => {
    const { node, verdict } = planning();
    node.at = () => {
      throw new Error('no scan today');
    };
    expect(await verdict()).toMatchObject({ reason: 'runtime-unavailable' });
  });
});

describe('what holds a command up holds up each of its objects, without a scan, and its target stays', () => {
  const held = containerRemoval(['dead'], {
    lifetimeMs: 600_000,
    reclaim: reclaim({ step: 'containers' }),
  });

  test.each<{ name: string; prepare: (node: RemovalNode) => void; reason: string }>([
    {
      name: 'a pause',
      prepare: (node) => {
        node.restrictions = { policy: { kind: 'paused', pause: { reason: 'an incident' } } };
      },
      reason: 'paused',
    },
    {
      name: 'a policy that does not enforce',
      prepare: (node) => {
        node.restrictions = { policy: { kind: 'not-enforced', message: 'dry-run' } };
      },
      reason: 'policy-not-in-force',
    },
    {
      name: 'its time being over',
      prepare: ({ clock }) => clock.advance(600_000),
      reason: 'expired',
    },
  ])('$name', async ({ prepare, reason }) => {
    const { node, plan, verdict } = planning(held);
    prepare(node);
    expect(await verdict()).toMatchObject({ reason });
    expect((await plan()).reclaim).toEqual(held.reclaim);
    expect(plansMade(node)).toBe(0);
  });

  test('from the next plan on, where it comes between', async () => {
    const { node, verdict } = planning(held);
    expect(await verdict()).toMatchObject({ id: 'dead' });
    node.restrictions = { policy: { kind: 'paused', pause: { reason: 'an incident' } } };
    expect(await verdict()).toMatchObject({ id: 'dead' });
    node.clock.advance(10_001);
    expect(await verdict()).toMatchObject({ reason: 'paused' });
  });
});
