import fc from 'fast-check';
import type {
  CompleteInventory,
  InventoryImage,
  InventoryLayer,
} from '../../../../../schemas/events/inventory.ts';
import { arbitraryNode } from '../../../../fixtures/arbitrary-node.ts';

const MOST_LAYERS = 8;

const table: fc.Arbitrary<InventoryLayer[]> = fc
  .array(fc.integer({ min: 0, max: 60 }), { maxLength: MOST_LAYERS })
  .map((sizes) =>
    sizes.map((sizeBytes, index) => ({ kind: 'snapshot' as const, digest: `layer-${index}`, sizeBytes })),
  );

/** Mostly of the table; what is beyond it is not believed. */
export const positions: fc.Arbitrary<InventoryImage['layers']> = fc.option(
  fc.array(fc.integer({ min: 0, max: MOST_LAYERS - 1 }), { maxLength: 5 }),
  { freq: 5 },
);

/** A node that tells layers, which its images share. */
export const nodeWithLayers: fc.Arbitrary<CompleteInventory> = arbitraryNode.chain((node) =>
  fc
    .tuple(
      fc.option(table, { freq: 8 }),
      fc.array(positions, { minLength: node.images.length, maxLength: node.images.length }),
    )
    .map(([layers, ofImages]) => ({
      ...node,
      layers,
      images: node.images.map((image, index) => ({ ...image, layers: ofImages[index] ?? null })),
    })),
);

/** The same node with its images and its table in another order. */
export function reordered(node: CompleteInventory): fc.Arbitrary<CompleteInventory> {
  const layers = node.layers ?? [];
  const order = fc.shuffledSubarray([...layers.keys()], { minLength: layers.length });
  const images = fc.shuffledSubarray([...node.images], { minLength: node.images.length });
  return fc.tuple(order, images).map(([positionsBefore, listed]) => ({
    ...node,
    layers: node.layers && positionsBefore.flatMap((position) => layers[position] ?? []),
    images: listed.map((image) => ({
      ...image,
      layers: image.layers?.map((position) => moved(positionsBefore, position)).toReversed() ?? null,
    })),
  }));
}

/** What is not in the table stays out of it. */
const moved = (positionsBefore: readonly number[], position: number): number =>
  position < positionsBefore.length ? positionsBefore.indexOf(position) : position;
