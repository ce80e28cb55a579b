import type { Logger } from 'pino';
import {
  type LayerTable,
  pulledImages,
  readImageLayers,
  type SnapshotSizes,
} from '../../../packages/cri/containerd/image-layers.ts';
import { type ListedNames, readImageContent } from '../../../packages/cri/containerd/layer-store.ts';
import type { ContainerdReader } from '../../../packages/cri/containerd/reader.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import { type FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';

/** Why containerd does not tell all of it, and what comes of that. */
export interface MissingContents {
  readonly reason: string;
  readonly effect: string;
  /** Whether it could tell and did not, which may hold up the removal of images. */
  readonly isFailure: boolean;
}

interface ContentReadingParts {
  /** `null`: nobody is asked. */
  readonly containerd: ContainerdReader | null;
  /** Whether images that the runtime imported look like pulled ones, so that none is known to have been pulled. */
  readonly importsLookPulled: boolean;
  readonly clock: NodeClock;
  /** Takes why there is no answer, each time that this is new. */
  readonly onMissing: (missing: MissingContents) => void;
}

/** Whether this node pulled an image, or got it otherwise (M12). */
export type ImageOrigin = 'pulled' | 'not-pulled' | 'unknown';

/** What containerd tells of images beside CRI. */
export interface ImageContents {
  /** `null` where nobody told them. */
  readonly layers: LayerTable | null;
  /** `undefined` where nobody can tell it of any: the runtime has no such API, or is not to be asked. */
  readonly originOf: (imageId: string) => ImageOrigin | undefined;
}

/** A listed image, and since when it is; of one that went and came again, since it came again (C4). */
export type DetectedImage = ListedNames & { readonly firstDetectedMs: number };

/** Never rejects. */
export type ContentReading = (images: readonly DetectedImage[]) => Promise<ImageContents>;

/** Of images that nobody asks about. */
export const NO_CONTENTS: ImageContents = { layers: null, originOf: () => undefined };

/**
 * Nobody waits longer for what makes a plan more exact. What was learned meanwhile is kept for the next time.
 * @limit Wait of an inventory for layers and leases of containerd.
 */
const WITHIN_MS = 3_000;

/** By image, whether it was pulled. */
type Pulled = ReadonlyMap<string, boolean>;

/** What was learned of an image does not hold for one that comes later under the same id. */
const keyOf = ({ id, firstDetectedMs }: Pick<DetectedImage, 'id' | 'firstDetectedMs'>): string =>
  `${firstDetectedMs} ${id}`;

function byImage(images: readonly DetectedImage[], pulled: Pulled): Pulled {
  const known = images.flatMap((image) => {
    const isPulled = pulled.get(image.id);
    return isPulled === undefined ? [] : [[keyOf(image), isPulled] as const];
  });
  return new Map(known);
}

/** Asks a containerd, each time anew; while it does not answer, images came from where they came from when it last did. */
export function contentReading(parts: ContentReadingParts): ContentReading {
  const read = trustingReading(parts);
  return parts.importsLookPulled ? async (images) => withoutPulls(await read(images)) : read;
}

const withoutPulls = ({ layers, originOf }: ImageContents): ImageContents => ({
  layers,
  originOf: (imageId) => (originOf(imageId) === 'not-pulled' ? 'not-pulled' : 'unknown'),
});

function trustingReading({ containerd, clock, onMissing }: ContentReadingParts): ContentReading {
  if (containerd === null) return async () => NO_CONTENTS;
  const sizes: SnapshotSizes = new Map();
  let pulled: Pulled | null = null;
  let reported: string | null = null;
  return async (images) => {
    const untilMs = clock.now().sinceBootMs + WITHIN_MS;
    const timeLeftMs = (): number => Math.max(1, untilMs - clock.now().sinceBootMs);
    try {
      const content = await readImageContent({ containerd, timeLeftMs });
      // Before anything else can fail: where images came from may keep them.
      pulled = byImage(images, pulledImages(images, content));
      const layers = await readImageLayers(images, content, { containerd, sizes, timeLeftMs });
      reported = null;
      return { layers, originOf: originIn(images, pulled) };
    } catch (thrown) {
      const error = toFleetGcError(thrown);
      if (reported !== error.code) onMissing(missingContents(error));
      reported = error.code;
      // A runtime that has told it before has the API, whatever it says now.
      const originOf =
        pulled === null && isWithoutApi(error) ? NO_CONTENTS.originOf : originIn(images, pulled);
      return { layers: null, originOf };
    }
  };
}

/** The same for a process that says in its log what containerd does not tell. */
export const loggedContentReading = ({
  logger,
  ...parts
}: Omit<ContentReadingParts, 'onMissing'> & { readonly logger: Logger }): ContentReading =>
  contentReading({
    ...parts,
    onMissing: ({ reason, effect, isFailure }) =>
      logger[isFailure ? 'warn' : 'info']({ reason }, `containerd told nothing of its images: ${effect}`),
  });

function originIn(images: readonly DetectedImage[], pulled: Pulled | null): (imageId: string) => ImageOrigin {
  const keys = new Map(images.map((image) => [image.id, keyOf(image)]));
  return (imageId) => {
    const isPulled = pulled?.get(keys.get(imageId) ?? '');
    if (isPulled === undefined) return 'unknown';
    return isPulled ? 'pulled' : 'not-pulled';
  };
}

const isWithoutApi = ({ code }: FleetGcError): boolean => code === 'RUNTIME_UNSUPPORTED';

const missingContents = (error: FleetGcError): MissingContents =>
  isWithoutApi(error)
    ? {
        reason: 'the runtime has no containerd API beside CRI',
        effect: 'images count by their listed sizes, and none stays because it was not pulled',
        isFailure: false,
      }
    : {
        reason: error.message,
        effect:
          'images count by their listed sizes, and those not known to be pulled stay where keep.unpullable is true',
        isFailure: true,
      };
