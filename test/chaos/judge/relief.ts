import { REPOSITORIES } from '../node/life.ts';
import type { Evidence, Violation } from './evidence.ts';
import type { ImageLife } from './history.ts';
import type { JudgedNode } from './removals.ts';
import { enforcedOn } from './settings.ts';

/** Within this time after the last fault every disk is relieved that can be. */
export const RELIEF_MS = 120_000;

/** A disk is below the threshold, or nothing of it may go. To be asked when the time is over, or sooner. */
export function unrelieved(
  { acts }: Pick<Evidence, 'acts'>,
  { name, history }: JudgedNode,
): readonly Violation[] {
  const last = acts.at(-1);
  const facts = last ? enforcedOn(last.setting, name) : null;
  if (facts === null || history.usedPercent < facts.highPercent) return [];
  const isKept = ({ pinned, names }: ImageLife): boolean =>
    pinned ||
    names.some(
      (image) =>
        image.startsWith(`${REPOSITORIES.always}/`) ||
        (facts.keepsTeam && image.startsWith(`${REPOSITORIES.team}/`)),
    );
  const used = new Set(
    history.containers.filter(({ gone }) => gone === null).map(({ line }) => line.imageId),
  );
  const removable = history.images.filter(
    (image) => image.gone === null && !used.has(image.id) && !isKept(image),
  );
  if (removable.length === 0) return [];
  const text = `the disk is used to ${history.usedPercent} %, and ${removable.length} images may go: ${removable.map(({ id }) => id).join(', ')}`;
  return [{ invariant: 'relief', node: name, text }];
}
