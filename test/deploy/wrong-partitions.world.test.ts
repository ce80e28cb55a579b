import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fleetgc } from '../cli/fleetgc.ts';
import { addPartitions } from '../packages/log/add-partitions.ts';
import { startBroker } from '../support/kafka/kafka.ts';
import { waitUntil } from '../support/wait-until.ts';
import { REPOSITORY } from './files.ts';
import { type ServiceProcess, startService } from './service-process.ts';

const TOPIC = 'gc.node.commands';
/** Ten times what the page promises. */
const HOLDS_MS = 600_000;

test('a node whose topic got more partitions is unready, says which, and removes nothing more', async () => {
  await using broker = await startBroker();
  const environment = {
    FLEETGC_KAFKA_BROKERS: broker.address,
    FLEETGC_KAFKA_REPLICATION_FACTOR: '1',
    FLEETGC_TRUST: 'off',
  };
  expect(await fleetgc(['topics', 'create'], { environment })).toMatchObject({ exitCode: 0 });
  const policy = join(REPOSITORY, 'deploy/compose/policy.yaml');
  expect(await fleetgc(['policy', 'apply', policy], { environment })).toMatchObject({ exitCode: 0 });
  await using _decide = await startService(['decide'], environment);
  const simulated = ['simulate-node', '--cluster', 'test', '--node-name', 'node-1'];
  await using node = await startService(simulated, environment);
  await waitUntil('the node to remove an image', HOLDS_MS, async () => (await removedImages(node)) > 0);

  await addPartitions({ address: broker.address })(TOPIC, 33);
  // A node that removes may be unready for another cause first: its images changed while they were read.
  await waitUntil('the node to be unready for the topic', HOLDS_MS, async () => {
    const { ready, text } = await node.readiness();
    return !ready && text.includes(TOPIC);
  });
  // The removal that was in hand just then has ended by the time a command is refused.
  await waitUntil('the node to refuse a command', HOLDS_MS, async () => (await heldCommands(node)) > 0);
  const [removedBefore, heldBefore] = [await removedImages(node), await heldCommands(node)];
  await waitUntil(
    'the node to refuse another',
    HOLDS_MS,
    async () => (await heldCommands(node)) > heldBefore,
  );
  expect(await removedImages(node)).toBe(removedBefore);
});

async function heldCommands(node: ServiceProcess): Promise<number> {
  const line = /^fleetgc_executor_commands_total\{outcome="held"\} (\d+)/m;
  return Number(line.exec(await node.metrics())?.[1] ?? 0);
}

async function removedImages(node: ServiceProcess): Promise<number> {
  const line = /^fleetgc_executor_objects_total\{kind="image",outcome="removed"\} (\d+)/m;
  return Number(line.exec(await node.metrics())?.[1] ?? 0);
}
