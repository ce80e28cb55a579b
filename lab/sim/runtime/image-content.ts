import { sha256Hex } from '../../../packages/canonical/ids.ts';
import type { SimulatedImage, SimulatedLayer } from './objects.ts';

/** Something of an image that lies on the disk once, however many images have it. */
export interface ContentPiece {
  readonly kind: 'blob' | 'snapshot';
  /** Of a snapshot its chain id. */
  readonly digest: string;
  /** Of a snapshot; empty where it has none. */
  readonly parent: string;
  readonly sizeBytes: bigint;
}

export const pieceKey = ({ kind, digest }: Pick<ContentPiece, 'kind' | 'digest'>): string =>
  `${kind} ${digest}`;

/** The packed blobs of an image and its snapshots, from the lowest layer up; a blob of nothing was discarded. */
export function contentOf(
  image: Pick<SimulatedImage, 'id' | 'sizeBytes' | 'layers'>,
): readonly ContentPiece[] {
  const pieces: ContentPiece[] = [];
  let parent = '';
  for (const { digest, packedBytes, unpackedBytes } of layersOf(image)) {
    if (packedBytes > 0n) pieces.push({ kind: 'blob', digest, parent: '', sizeBytes: packedBytes });
    const chainId = parent === '' ? digest : `sha256:${sha256Hex(`${parent} ${digest}`)}`;
    pieces.push({ kind: 'snapshot', digest: chainId, parent, sizeBytes: unpackedBytes });
    parent = chainId;
  }
  return pieces;
}

const layersOf = ({
  id,
  sizeBytes,
  layers,
}: Pick<SimulatedImage, 'id' | 'sizeBytes' | 'layers'>): readonly SimulatedLayer[] =>
  layers ?? [{ digest: id, packedBytes: 0n, unpackedBytes: sizeBytes }];
