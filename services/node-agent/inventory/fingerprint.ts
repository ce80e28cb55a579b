import { sha256Hex } from '../../../packages/canonical/ids.ts';
import { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { CompleteLook } from './look.ts';

/** What of each kind of object a decision turns on, a row for each object. */
const ROWS: Readonly<Record<ObjectKind, (look: CompleteLook) => readonly (readonly string[])[]>> = {
  container: ({ listing }) => listing.containers.map(({ id, state }) => [id, state]),
  sandbox: ({ listing }) => listing.sandboxes.map(({ id, state }) => [id, state]),
  // Logs follow their pods and containers, whose change is a reason to look by itself.
  'pod-log-directory': () => [],
  'log-symlink': () => [],
  image: ({ listing }) =>
    listing.images.map(({ id, repoTags, repoDigests, pinned }) => [
      id,
      String(pinned),
      ...repoTags.toSorted(),
      ...repoDigests.toSorted(),
    ]),
};

/** Equal for looks between which nothing changed that a decision could turn on, in whatever order it was listed. */
export function fingerprintOf(look: CompleteLook): string {
  const rows = [
    ...ObjectKind.options.flatMap((kind) => ROWS[kind](look).map((row) => [kind, ...row])),
    ...look.pods.map(({ uid, state, contentRemovable, runtimeRemovable }) => [
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
