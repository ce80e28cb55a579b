import type { KubeletPod } from '../../../packages/cri/kubelet/pod-source.ts';
import { createListingMemory, readListing } from '../../../packages/cri/listing.ts';
import { type CompleteListing, MAX_FACTS_AGE_MS } from '../../../packages/cri/listing-types.ts';
import type { RuntimeImage, RuntimeReader } from '../../../packages/cri/port.ts';
import { type ImageUsage, imageUsage } from '../../../packages/cri/usage.ts';
import type { ReadOnlyFile } from '../../../packages/files/fixed-file.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { ImageHistoryFile } from '../../../schemas/state/image-history.ts';
import type { KnownHistory } from './checks.ts';

/** A busy runtime changes while it is read; so often it may, before an object is left alone. */
const MAX_READINGS = 3;
const READ_AGAIN_AFTER_MS = 200;
/** A runtime that let us wait so long is not asked again for the same object. */
const PATIENCE_MS = 2_000;

export type WantedPod = Pick<KubeletPod, 'uid' | 'images' | 'finished'>;

/** What the runtime holds at this moment. */
export interface RuntimeFacts {
  readonly listing: CompleteListing;
  readonly usage: ImageUsage;
  readonly history: KnownHistory;
}

/** What the runtime held at `confirmedAt`. */
export interface KnownFacts {
  readonly ok: true;
  readonly facts: RuntimeFacts;
  readonly confirmedAt: Instant;
}

/** Or why that could not be had. */
export type FactsReading = KnownFacts | { readonly ok: false; readonly message: string };

/** Reads the runtime as it is now. Never rejects. */
export type ReadFacts = () => Promise<FactsReading>;

interface FactsSources {
  readonly runtime: RuntimeReader;
  readonly clock: NodeClock;
  readonly sleep: Sleep;
  /** Pods that the kubelet told of; `null` while the configured one has told this process nothing yet. */
  readonly wantedByPods: () => readonly WantedPod[] | null;
  readonly history: ReadOnlyFile<ImageHistoryFile>;
  /** Told what every complete reading lists. */
  readonly onImages: (images: readonly RuntimeImage[]) => void;
}

export function runtimeFacts(sources: FactsSources): ReadFacts {
  const memory = createListingMemory();
  const readNow = (): Promise<FactsReading> => readOnce(sources, memory).catch(asProblem);
  return async () => {
    const startMs = sources.clock.now().sinceBootMs;
    let reading = await readNow();
    for (let count = 1; !reading.ok && count < MAX_READINGS; count++) {
      if (sources.clock.now().sinceBootMs - startMs > PATIENCE_MS) break;
      await sources.sleep(READ_AGAIN_AFTER_MS);
      reading = await readNow();
    }
    return reading;
  };
}

const asProblem = (error: unknown): FactsReading => ({ ok: false, message: toFleetGcError(error).message });

async function readOnce(
  { runtime, clock, wantedByPods, history, onImages }: FactsSources,
  memory: ReturnType<typeof createListingMemory>,
): Promise<FactsReading> {
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

export const isFresh = ({ confirmedAt }: KnownFacts, now: Instant): boolean =>
  now.bootId === confirmedAt.bootId && now.sinceBootMs - confirmedAt.sinceBootMs <= MAX_FACTS_AGE_MS;
