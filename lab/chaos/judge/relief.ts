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
  const there = history.images.filter(({ gone }) => gone === null);
  const isThere = ({ id }: ImageLife): boolean => there.some((image) => image.id === id);
  const inDoubt = new Set(
    history.images.filter((image) => used.has(image.id) && !isThere(image)).flatMap(repositoriesOf),
  );
  const removable = there.filter(
    (image) =>
      !used.has(image.id) && !isKept(image) && !repositoriesOf(image).some((one) => inDoubt.has(one)),
  );
  if (removable.length === 0) return [];
  const text = `the disk is used to ${history.usedPercent} %, and ${removable.length} images may go: ${removable.map(({ id }) => id).join(', ')}`;
  return [{ invariant: 'relief', node: name, text }];
}

/**
 * A container whose image went in the moment in which it was created may run on any version of it, for all that anybody knows:
 * tags move. So each image of that repository stays for as long as it does.
 */
const repositoriesOf = ({ names }: ImageLife): readonly string[] =>
  names.map((name) => name.replace(/(@[^/]*|:[^/:@]*)$/, ''));
