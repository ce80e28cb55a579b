import { writeFileSync } from 'node:fs';
import { imageGcHandler } from '../../packages/deciders/image-gc/decider.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import { TOPICS, type TopicName } from '../../schemas/events/topics.ts';
import type { PolicySet } from '../../schemas/policy/policy.ts';
import { policySet } from '../../test/fixtures/policy.ts';
import { recordOf } from './context.ts';

/** By record key: what a decision service publishes upon an inventory of that node. */
export type MadeOutputs = Readonly<Record<string, readonly MadeOutput[]>>;

interface MadeOutput {
  readonly topic: TopicName;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

const position = { topic: TOPICS.inventory.name, partition: 0, offset: '0', sha256: 'e'.repeat(64) };

async function outputsOf(
  event: CompleteInventory,
  policies: PolicySet,
): Promise<readonly [string, readonly MadeOutput[]]> {
  const stages = await imageGcHandler(() => policies)({ event, position });
  const records = stages.flat().map((output) => recordOf(output));
  const made = records.map(({ topic, value, headers }) => ({ topic, value: String(value), headers }));
  return [nodeKey(event), made];
}

/** Writes what image-gc publishes for these nodes to a file. Resolves to the bytes for one node. */
export async function writeOutputs(file: string, nodes: readonly CompleteInventory[]): Promise<number> {
  const made = await Promise.all(nodes.map((node) => outputsOf(node, policySet())));
  writeFileSync(file, JSON.stringify(Object.fromEntries(made)));
  return made[0]?.[1].reduce((sum, { value }) => sum + value.length, 0) ?? 0;
}
