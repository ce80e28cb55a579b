import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { containerGcHandler } from '../../../../packages/deciders/container-gc/decider.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import type { Reclaim } from '../../../../schemas/events/reclaim.ts';
import { containerRemoval, imageRemoval } from '../../../fixtures/command.ts';
import { input } from '../../../fixtures/input.ts';
import { container, gonePod, inventory, podLogDirectory, sandbox, uid } from '../../../fixtures/inventory.ts';
import { policySet } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { runs } from '../../../support/property-runs.ts';
import {
  addContainer,
  addImages,
  addSandbox,
  type ExecutorNode,
  executorNode,
  until,
} from './support/executor-node.ts';

const LOGS = `default_web_${uid(1)}`;
const OUT_OF_REACH = { filesystem: 'imagefs', resource: 'availableBytes', atLeast: '1000' } as const;

/** What is to go, at which place of the reclaim. */
const decided = fc.record({
  objects: fc.subarray(['container', 'sandbox', 'logs', 'images'] as const, { minLength: 1 }),
  actions: fc.constantFrom<Reclaim['actions'][]>(['containers', 'images'], ['containers']),
  round: fc.integer({ min: 1, max: 5 }),
});
type Decided = typeof decided extends fc.Arbitrary<infer T> ? T : never;

/** What befalls the commands: each waits on the log, and something happens at the n-th call or write that follows. */
const course = fc.record({
  wasOvertaken: fc.boolean(),
  waitsMs: fc.array(fc.constantFrom(0, 100, 59_000, 60_000), { minLength: 2, maxLength: 2 }),
  strikes: fc.array(
    fc.record({ at: fc.nat({ max: 30 }), what: fc.constantFrom('minute', 'pause', 'break', 'kill') }),
    { maxLength: 3 },
  ),
});
type Course = typeof course extends fc.Arbitrary<infer T> ? T : never;

function withObjects({ objects }: Decided): ExecutorNode {
  const node = executorNode();
  node.runtime.otherBytes = 100n;
  if (objects.includes('container')) addContainer(node, 'dead', { sandboxId: 'sandbox-1' });
  if (objects.includes('sandbox')) addSandbox(node, 'sandbox-1');
  if (objects.includes('logs')) mkdirSync(join(node.podLogsDir, LOGS), { recursive: true });
  return node;
}

/** By the decider itself, so that whatever it makes of one decision is judged; for images one command as it would write. */
async function commandsOf(node: ExecutorNode, { objects, actions, round }: Decided): Promise<Command[]> {
  const at = { target: OUT_OF_REACH, actions };
  if (objects.includes('images')) {
    const images = addImages(node, ['a', 'b']);
    const step = reclaim({ ...at, actions: ['containers', 'images'], step: 'images', round });
    return [imageRemoval(images, { reclaim: step })];
  }
  const given = inventory({
    containers: objects.includes('container') ? [container('dead')] : [],
    sandboxes: objects.includes('sandbox') ? [sandbox('sandbox-1')] : [],
    podLogDirectories: objects.includes('logs') ? [podLogDirectory(LOGS)] : [],
    pods: [gonePod('pod-1'), gonePod(uid(1))],
    reclaim: reclaim({ ...at, step: 'containers' }),
  });
  const stages = await containerGcHandler(() => policySet({ imageGCLowThresholdPercent: 0 }))(
    input('inventory', given),
  );
  return stages.flat().flatMap(({ event }) => (event.type === 'fleetgc.node.command' ? [event] : []));
}

/** Lets what is to happen happen, once each, also to later processes; returns how to watch another process. */
function strike(node: ExecutorNode, { strikes }: Pick<Course, 'strikes'>) {
  let [steps, kill] = [0, (): void => {}];
  const happen: Readonly<Record<string, (call: string) => void>> = {
    minute: () => node.clock.advance(60_000),
    pause: () => {
      node.policy = () => ({ kind: 'paused', pause: { reason: '' } });
    },
    kill: () => kill(),
    break: (call) => {
      throw new Error(`nobody foresaw this at ${call}`);
    },
  };
  const step = (call: string): void => {
    const now = steps++;
    for (const { at, what } of strikes) if (at === now) happen[what]?.(call);
  };
  node.runtime.before = step;
  node.runtime.after = step;
  return (onKill: () => void): void => {
    kill = onKill;
  };
}

/** Delivers all commands, again to each process that follows one that was killed, until all have their results. */
async function carriedOut(node: ExecutorNode, commands: readonly Command[], { strikes, waitsMs }: Course) {
  const watch = strike(node, { strikes });
  for (let isDone = false; !isDone; ) {
    const process = node.start();
    let dead = false;
    watch(() => {
      dead = true;
      process.kill();
    });
    for (const [index, command] of commands.entries()) {
      node.clock.advance(waitsMs[index] ?? 0);
      await process.receive(command);
    }
    const ended = () => commands.every(({ id }) => node.result(id)) || dead || undefined;
    await until('the results', ended);
    isDone = !dead;
    if (isDone) await process.stop();
  }
}

/** What was said of the reclaim, each thing once however often it was published. */
const said = ({ published }: ExecutorNode): readonly string[] => {
  const told = published.flatMap((event) =>
    event.type === 'fleetgc.node.reclaim-continues' || event.type === 'fleetgc.node.pressure-unrelieved'
      ? [`${event.type} ${event.id}`]
      : [],
  );
  return [...new Set(told)];
};

test('[J14, M8] of each decision of a reclaim follows exactly one thing, whatever becomes of it', async () => {
  await fc.assert(
    fc.asyncProperty(decided, course, async (what, become) => {
      const node = withObjects(what);
      const commands = await commandsOf(node, what);
      if (become.wasOvertaken) await actBefore(node);
      await carriedOut(node, commands, become);
      expect(said(node)).toHaveLength(1);
    }),
    runs(60),
  );
});

/** Another command acts after the inventory was taken. */
async function actBefore(node: ExecutorNode): Promise<void> {
  addContainer(node, 'other');
  const executor = node.start();
  await executor.carryOut(containerRemoval(['other'], { id: 'periodic' }));
  await executor.carryOut(imageRemoval(addImages(node, ['c']), { id: 'periodic images' }));
  await executor.stop();
}
