import type { NodeClock } from '../shared/clock.ts';
import type { ListedNames } from '../shared/cri/containerd/held-layers.ts';
import {
  type LayerTable,
  readImageLayers,
  type SnapshotSizes,
} from '../shared/cri/containerd/image-layers.ts';
import type { ContainerdReader } from '../shared/cri/containerd/reader.ts';
import { type FleetGcError, toFleetGcError } from '../shared/errors.ts';

export interface LayerReadingParts {
  /** `null`: nobody is asked. */
  readonly containerd: ContainerdReader | null;
  readonly clock: NodeClock;
  /** Takes why there is no answer, each time that this is new. */
  readonly tell: (reason: string) => void;
}

/** The layers of these images; `null` where nobody told them. Never rejects. */
export type LayerReading = (images: readonly ListedNames[]) => Promise<LayerTable | null>;

/** Layers only make a plan more exact: nobody waits longer for them. What was learned meanwhile is kept for the next time. */
const WITHIN_MS = 3_000;

/** Asks a containerd, each time anew. */
export function layerReading({ containerd, clock, tell }: LayerReadingParts): LayerReading {
  if (containerd === null) return async () => null;
  const sizes: SnapshotSizes = new Map();
  let told: string | null = null;
  return async (images) => {
    const untilMs = clock.now().sinceBootMs + WITHIN_MS;
    const timeLeftMs = (): number => Math.max(1, untilMs - clock.now().sinceBootMs);
    try {
      const table = await readImageLayers(images, { containerd, sizes, timeLeftMs });
      told = null;
      return table;
    } catch (thrown) {
      const error = toFleetGcError(thrown);
      if (told !== error.code) tell(reasonOf(error));
      told = error.code;
      return null;
    }
  };
}

const reasonOf = ({ code, message }: FleetGcError): string =>
  code === 'RUNTIME_UNSUPPORTED' ? 'the runtime has no containerd API beside CRI' : message;
