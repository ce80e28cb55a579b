import { zstdCompressSync } from 'node:zlib';
import { sha256Hex } from '../../../../packages/canonical/ids.ts';
import { containerGcHandler } from '../../../../packages/deciders/container-gc/decider.ts';
import { imageGcHandler } from '../../../../packages/deciders/image-gc/decider.ts';
import { nodeOutput, type Output, type PureHandler } from '../../../../packages/decision/handler.ts';
import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import { policySet } from '../../../../test/fixtures/policy.ts';
import { recordOf } from '../../context.ts';
import type { Figure } from '../../figure.ts';
import { fullNode } from '../../inventories.ts';
import { spreadOf } from '../../statistics.ts';

const NODES = 16;
const DECIDERS = { 'image-gc': imageGcHandler, 'container-gc': containerGcHandler } as const;

/** What the record of a decision weighs beside the inventory that was decided on, each compressed by itself. */
export function recordFigures(): readonly Figure[] {
  const nodes = Array.from({ length: NODES }, (_, index) =>
    fullNode(`node-${index}`, { images: 200, containers: 30 }),
  );
  const inventories = nodes.map((node) => compressedKb(nodeOutput('inventory', node)));
  return Object.entries(DECIDERS).map(([name, handler]) => ({
    benchmark: 'audit',
    name: `record of ${name}, 200 images, compressed`,
    unit: 'kB',
    value: spreadOf(
      nodes.map((node) =>
        compressedKb(
          recordIn(
            handler(() => policySet()),
            node,
          ),
        ),
      ),
    ),
    baseline: spreadOf(inventories),
    baselineName: 'its inventory',
    samples: NODES,
    aim: { kind: 'ratio-at-most', limit: 1 },
  }));
}

function recordIn(handler: PureHandler<CompleteInventory>, event: CompleteInventory): Output {
  const sha256 = sha256Hex(JSON.stringify(event));
  const position = { topic: 'gc.node.inventory', partition: 0, offset: '123456', sha256 };
  const [record] = handler({ event, position }).flat();
  if (record === undefined) throw new Error('nothing was recorded');
  return record;
}

/** As the broker keeps it: zstd at its usual level. */
const compressedKb = (output: Output): number => zstdCompressSync(recordOf(output).value ?? '').length / 1000;
