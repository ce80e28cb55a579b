import type { Logger } from 'pino';
import type { NodeClock } from '../shared/clock.ts';
import type { ListedNames } from '../shared/cri/containerd/held-layers.ts';
import {
  type LayerTable,
  readImageLayers,
  type SnapshotSizes,
} from '../shared/cri/containerd/image-layers.ts';
import type { ContainerdReader } from '../shared/cri/containerd/reader.ts';
import { toFleetGcError } from '../shared/errors.ts';

export interface LayerReadingParts {
  /** `null`: nobody is asked. */
  readonly containerd: ContainerdReader | null;
  readonly clock: NodeClock;
  readonly logger: Logger;
}

/** The layers of these images; `null` where nobody told them. Never rejects. */
export type LayerReading = (images: readonly ListedNames[]) => Promise<LayerTable | null>;

/** Layers only make a plan more exact: nobody waits longer for them. What was learned meanwhile is kept for the next time. */
const WITHIN_MS = 3_000;

/** Asks a containerd, each time anew, and says once why there is no answer. */
export function layerReading({ containerd, clock, logger }: LayerReadingParts): LayerReading {
  const sizes: SnapshotSizes = new Map();
  let told: string | null = null;
  return async (images) => {
    if (containerd === null) return null;
    const untilMs = clock.now().sinceBootMs + WITHIN_MS;
    const timeLeftMs = (): number => Math.max(1, untilMs - clock.now().sinceBootMs);
    try {
      const table = await readImageLayers(images, { containerd, sizes, timeLeftMs });
      told = null;
      return table;
    } catch (thrown) {
      const { code, message } = toFleetGcError(thrown);
      const reason =
        code === 'RUNTIME_UNSUPPORTED' ? 'the runtime has no containerd API beside CRI' : message;
      if (told !== code)
        logger.info({ reason }, 'layers of images are not known: they count by their listed sizes');
      told = code;
      return null;
    }
  };
}
