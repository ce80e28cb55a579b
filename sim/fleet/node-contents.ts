import type { LayerTable } from '../../packages/cri/containerd/image-layers.ts';
import type { CataloguePiece } from './catalogue.ts';
import type { FleetNode } from './fleet-node.ts';

/** The layers of the images of a node; those of one image together. */
export function layerTable({ disk }: Pick<FleetNode, 'disk'>): LayerTable {
  const positions = new Map<CataloguePiece, number>();
  const ofImage = new Map<string, readonly number[]>();
  for (const { image } of disk.images.values()) {
    for (const piece of image.content) if (!positions.has(piece)) positions.set(piece, positions.size);
    ofImage.set(
      image.id,
      image.content.map((piece) => positions.get(piece) ?? 0).sort((a, b) => a - b),
    );
  }
  return { layers: [...positions.keys()].map(({ listed }) => listed), ofImage };
}
