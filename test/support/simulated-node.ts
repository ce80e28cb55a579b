import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type SimulatedNode, type SimulatedNodeOptions, startSimulatedNode } from '../../lab/sim/node.ts';
import { manualClock } from './manual-clock.ts';

/** A simulated node of 10 GB of this test's own, gone when the test ends. */
export async function simulatedNode(over: Partial<SimulatedNodeOptions> = {}): Promise<SimulatedNode> {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-node-'));
  const node = await startSimulatedNode({
    name: 'node-a',
    directory,
    clock: manualClock(),
    capacityBytes: 10_000_000_000n,
    ...over,
  });
  onTestFinished(async () => {
    await node[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });
  return node;
}
