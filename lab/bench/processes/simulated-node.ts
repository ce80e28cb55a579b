/** A simulated node with so many images and running containers. */

import { linuxClock } from '../../../packages/machine/clock.ts';
import { startSimulatedNode } from '../../sim/node.ts';
import type { ScriptArguments } from './arguments.ts';

const CAPACITY_BYTES = 1_000_000_000_000n;
const CONTAINERS_PER_POD = 2;

const [, , argument = ''] = process.argv;
const { directory, images, containers }: ScriptArguments['simulated-node'] = JSON.parse(argument);
const node = await startSimulatedNode({
  name: 'bench',
  directory,
  clock: linuxClock(),
  capacityBytes: CAPACITY_BYTES,
});
const references = Array.from({ length: images - 1 }, (_, i) => `registry.example.com/team/service-${i}:1`);
for (const reference of references) await node.runtime.pullImage(reference);
for (let pod = 0; pod < containers / CONTAINERS_PER_POD; pod += 1) {
  const image = references[pod] ?? '';
  await node.kubelet.startPod({
    name: `service-${pod}`,
    namespace: 'default',
    containers: { main: image, sidecar: image },
  });
}
process.stdout.write('ready\n');
