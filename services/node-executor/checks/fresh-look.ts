import { createListingMemory, readListing } from '../../../packages/cri/listing.ts';
import { MAX_FACTS_AGE_MS } from '../../../packages/cri/listing-types.ts';
import type { RuntimeImage, RuntimeReader } from '../../../packages/cri/port.ts';
import { imageUsage } from '../../../packages/cri/usage.ts';
import type { ReadOnlyFile } from '../../../packages/files/fixed-file.ts';
import type { KubeletPod } from '../../../packages/kubelet/pod-source.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { Sleep } from '../../../packages/process/back-off.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { ImageHistoryFile } from '../../../schemas/state/image-history.ts';
import type { KnownHistory } from './image-checks.ts';
import type { RuntimeFacts } from './second-look.ts';

/** A busy runtime changes while it is read; so often it may, before an object is left alone. */
const LOOKS = 3;
const LOOK_AGAIN_AFTER_MS = 200;
/** A runtime that let us wait so long is not asked again for the same object. */
const PATIENCE_MS = 2_000;

export type WantedPod = Pick<KubeletPod, 'uid' | 'images' | 'finished'>;

/** What the runtime held at `confirmedAt`, or why that could not be had. */
export type Look =
  | { readonly ok: true; readonly facts: RuntimeFacts; readonly confirmedAt: Instant }
  | { readonly ok: false; readonly message: string };

interface LookSources {
  readonly runtime: RuntimeReader;
  readonly clock: NodeClock;
  readonly sleep: Sleep;
  /** Pods that the kubelet told of; `null` while the configured one has told this process nothing yet. */
  readonly wantedByPods: () => readonly WantedPod[] | null;
  readonly history: ReadOnlyFile<ImageHistoryFile>;
  /** Told what every complete look lists. */
  readonly onImages: (images: readonly RuntimeImage[]) => void;
}

/** Returns a function that reads the runtime as it is now. It never rejects. */
export function freshLook(sources: LookSources): () => Promise<Look> {
  const memory = createListingMemory();
  const lookNow = (): Promise<Look> => lookOnce(sources, memory).catch(asProblem);
  return async () => {
    const startMs = sources.clock.now().sinceBootMs;
    let look = await lookNow();
    for (let count = 1; !look.ok && count < LOOKS; count++) {
      if (sources.clock.now().sinceBootMs - startMs > PATIENCE_MS) break;
      await sources.sleep(LOOK_AGAIN_AFTER_MS);
      look = await lookNow();
    }
    return look;
  };
}

const asProblem = (error: unknown): Look => ({ ok: false, message: toFleetGcError(error).message });

async function lookOnce(
  { runtime, clock, wantedByPods, history, onImages }: LookSources,
  memory: ReturnType<typeof createListingMemory>,
): Promise<Look> {
  let confirmedAt = clock.now();
  // A listing ends by listing everything once more, images first: what it says was still so at that moment.
  const timed: RuntimeReader = {
    ...runtime,
    listImages: () => {
      confirmedAt = clock.now();
      return runtime.listImages();
    },
  };
  const listing = await readListing(timed, memory);
  if (listing.status === 'incomplete') {
    return { ok: false, message: listing.problems.map(({ message }) => message).join('; ') };
  }
  onImages(listing.images);
  const usage = imageUsage(listing, wantedByPods());
  return { ok: true, facts: { listing, usage, history: readHistory(history) }, confirmedAt };
}

function readHistory(file: ReadOnlyFile<ImageHistoryFile>): KnownHistory {
  try {
    return { kind: 'known', file: file.read() };
  } catch (error) {
    return { kind: 'unreadable', message: toFleetGcError(error).message };
  }
}

export const isFresh = ({ confirmedAt }: Extract<Look, { ok: true }>, now: Instant): boolean =>
  now.bootId === confirmedAt.bootId && now.sinceBootMs - confirmedAt.sinceBootMs <= MAX_FACTS_AGE_MS;
