import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NodeProcess } from '../support/nodes/node-process.ts';
import type { PushedImage } from '../support/nodes/registry.ts';
import type { Service } from '../support/service.ts';
import { accountOf, expectRemovedIsGone, undecided } from './support/accounts.ts';
import { type Fleet, startFleet } from './support/fleet/fleet.ts';
import type { FleetNode } from './support/fleet/fleet-node.ts';
import { policyFor } from './support/fleet/policies.ts';
import { GATE_ENDPOINT, openRuntimeGate, type RuntimeGate } from './support/fleet/runtime-gate.ts';
import {
  pullAnother,
  pullUntilPressed,
  pushEqualImages,
  REMOVES_AT_ONCE,
  relieved,
  SMALL_DISK_MEBIBYTES,
} from './support/pressure.ts';

const RELIEVED_MS = 90_000;
const DECIDED_MS = 30_000;

let fleet: Fleet;
let decide: Service;
let images: readonly PushedImage[];
beforeAll(async () => {
  fleet = await startFleet({ services: [] });
  [decide, images] = await Promise.all([fleet.startService('decide'), pushEqualImages(fleet.registry)]);
});
afterAll(() => fleet?.[Symbol.asyncDispose]());

interface GatedNode {
  readonly node: FleetNode;
  readonly gate: RuntimeGate;
  /** `fleetgc node`, as started first. */
  readonly fleetgc: NodeProcess;
}

/** A node whose image removals pass through a gate, with a policy that removes images above the high threshold. */
async function startGatedNode(name: string): Promise<GatedNode & AsyncDisposable> {
  await using starting = new AsyncDisposableStack();
  const node = await fleet.startNode({
    name,
    diskMebibytes: SMALL_DISK_MEBIBYTES,
    args: ['--runtime-endpoint', GATE_ENDPOINT],
  });
  const gate = starting.use(await openRuntimeGate(node));
  await fleet.apply(policyFor(name, REMOVES_AT_ONCE));
  const fleetgc = await node.startFleetgc();
  const stack = starting.move();
  return { node, gate, fleetgc, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const withoutThose = (pulled: readonly PushedImage[]): readonly PushedImage[] =>
  images.filter((image) => !pulled.includes(image));

const resultOf = (node: FleetNode, image: string) =>
  accountOf(fleet.log, node).objectResults.filter(({ object }) => object.id === image);

/** What the log says was removed, what the runtime was told to remove, and what is gone are the same, each once. */
async function expectExactAccount(
  { node, gate }: Pick<GatedNode, 'node' | 'gate'>,
  pulled: readonly PushedImage[],
): Promise<void> {
  const gone = await expectRemovedIsGone(fleet.log, node, pulled);
  expect(gate.removed().toSorted()).toEqual(gone);
}

describe('what fails for all in the middle of a reclaim', () => {
  test('Kafka restarts while an image is being removed: its result arrives, and the node is relieved', async () => {
    await using gated = await startGatedNode('kafka-restarts');
    const { node, gate } = gated;
    const removal = gate.holdRemoval('before');
    const pulled = await pullUntilPressed(node, images);
    const image = await removal.reached();
    await fleet.broker.stop();
    removal.release();
    await fleet.log.until('the image to go while there is no broker', DECIDED_MS, async () => {
      return !(await node.imageIds()).includes(image);
    });
    expect(resultOf(node, image)).toEqual([]);

    await fleet.broker.start();

    const more = await pullUntilPressed(node, withoutThose(pulled));
    await relieved(fleet.log, node, RELIEVED_MS);
    await expectExactAccount(gated, [...pulled, ...more]);
    expect(resultOf(node, image)).toMatchObject([{ journal: 'disk', result: { outcome: 'removed' } }]);
    await fleet.log.until('a decision on every fact', DECIDED_MS, () => undecided(fleet.log).length === 0);
    expect(fleet.log.events('deadLetters')).toEqual([]);
    // Each client of a process has its own pause before it tries again, and the end of an outage is said when all are back.
    await fleet.log.until('both to say that Kafka is reached again', RELIEVED_MS, async () => {
      const said = [node.output(), await decide.output()];
      return said.every((output) => output.includes('Kafka is reached again'));
    });
    for (const said of [node.output(), await decide.output()])
      expect(said).toContain('Check that the brokers run');
  });
});

describe.concurrent('what fails on one node in the middle of a reclaim', () => {
  test('containerd restarts while an image is being removed: that removal failed, and the node is relieved', async () => {
    await using gated = await startGatedNode('containerd-restarts');
    const { node, gate } = gated;
    const removal = gate.holdRemoval('before');
    const pulled = await pullUntilPressed(node, images);
    const image = await removal.reached();
    await Promise.all([node.killRuntime(), gate.break()]);
    removal.release();
    const [failure] = await fleet.log.until('the result of the removal', DECIDED_MS, () => {
      const found = resultOf(node, image);
      return found.length > 0 && found;
    });
    expect(failure?.result).toMatchObject({ outcome: 'failed', reason: 'runtime-error' });
    expect(gate.removed()).toEqual([]);

    await node.startRuntime();
    await gate.mend();

    expect(await node.imageIds()).toContain(image);
    const another = await pullAnother(node, withoutThose(pulled));
    await relieved(fleet.log, node, RELIEVED_MS);
    await expectExactAccount(gated, [...pulled, another]);
    expect(await node.imageIds(), 'an image that failed to go is left alone for a minute').toContain(image);
  });

  test('an executor is killed after the removal and before its result: the next one reports it, and goes on', async () => {
    await using gated = await startGatedNode('executor-killed');
    const { node, gate, fleetgc } = gated;
    const removal = gate.holdRemoval('after');
    const pulled = await pullUntilPressed(node, images);
    const image = await removal.reached();
    expect(await node.imageIds()).not.toContain(image);
    await fleetgc.signal('SIGKILL');
    expect(await fleetgc.exited).toBe(137);
    removal.release();
    expect(resultOf(node, image)).toEqual([]);

    await node.startFleetgc();

    await relieved(fleet.log, node, RELIEVED_MS);
    await expectExactAccount(gated, pulled);
    const { commands, answered } = accountOf(fleet.log, node);
    const command = commands.find(({ items }) => items.some(({ id }) => id === image));
    expect(resultOf(node, image)).toMatchObject([{ commandId: command?.id, result: { outcome: 'removed' } }]);
    expect(answered).toContain(command?.id);
  });
});
