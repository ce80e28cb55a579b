import { sha256Hex } from '../../../packages/canonical/ids.ts';
import type { CompleteLook } from './look.ts';

/** Equal for looks between which nothing changed that a decision could turn on, in whatever order it was listed. */
export function fingerprintOf({ listing, pods }: CompleteLook): string {
  const rows = [
    ...listing.images.map(({ id, repoTags, repoDigests, pinned }) => [
      'image',
      id,
      String(pinned),
      ...repoTags.toSorted(),
      ...repoDigests.toSorted(),
    ]),
    ...listing.containers.map(({ id, state }) => ['container', id, state]),
    ...listing.sandboxes.map(({ id, state }) => ['sandbox', id, state]),
    ...pods.map(({ uid, state, contentRemovable, runtimeRemovable }) => [
      'pod',
      uid,
      state,
      String(contentRemovable),
      String(runtimeRemovable),
    ]),
  ];
  return sha256Hex(JSON.stringify(rows.map((row) => row.join(' ')).toSorted()));
}

/** Ids of containers that ran in the look before and run no more, as far as the runtime still has them. */
export function diedSince(before: CompleteLook | null, { listing }: CompleteLook): string[] {
  const ran = new Set(
    before?.listing.containers.filter(({ state }) => state === 'running').map(({ id }) => id),
  );
  return listing.containers.filter(({ id, state }) => ran.has(id) && state !== 'running').map(({ id }) => id);
}
