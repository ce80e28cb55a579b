import { expect, test } from 'vitest';
import { textOf } from '../deploy/files.ts';
import { type RuntimeTraits, TRAITS } from '../packages/cri/contract/traits.ts';
import { tableRows } from './markdown.ts';

/** Which row tells of it: what each runtime really does is seen by the suite of `test/packages/cri/contract/`. */
const ROW_OF: Readonly<Record<keyof RuntimeTraits, string>> = {
  imageIdPrefix: 'id of an image',
  tellsImageIdOfContainers: 'image_id of a container',
  imageRefOfContainers: 'image_ref of a container',
  creationInStatus: 'creation of a container',
  createdOnceStopped: 'a container that was created, then stopped',
  stopsUnknown: 'stopping what is not there',
  removesImagesInUse: 'removing an image in use',
  pinsSandboxImage: 'image for new sandboxes',
  tellsConfiguredSandboxImage: 'image for new sandboxes',
  tellsImageOfSandboxes: 'image of a sandbox',
  mountsImages: 'image volumes',
  containerEvents: 'deaths of containers (events)',
  takesHugeLabels: 'an image with megabytes of labels',
  tellsLayers: 'layers, and who pulled an image',
};
/** The page has a column for each, in this order. */
const COLUMNS: readonly RuntimeTraits[] = Object.values(TRAITS);

/** `the same` is what stands before it. */
const toldOf = (row: string): readonly string[] => {
  const found = tableRows(textOf('docs/operating/runtimes.md'), 'what').find(
    ([name = '']) => name.replaceAll('`', '') === row,
  );
  if (found === undefined) throw new Error(`the page has no row "${row}"`);
  return found
    .slice(1)
    .map((_, index, cells) => cells.slice(0, index + 1).findLast((cell) => cell !== 'the same') ?? '');
};

test.each(Object.entries(ROW_OF))(
  'where runtimes differ in %s, the page of runtimes tells it [%s]',
  (trait, row) => {
    const told = toldOf(row);
    expect(told).toHaveLength(COLUMNS.length);
    const done = COLUMNS.map((traits) => Object.entries(traits).find(([name]) => name === trait)?.[1]);
    for (const [one, ofOne] of done.entries())
      for (const [other, ofOther] of done.entries())
        if (ofOne !== ofOther) expect(told[one]).not.toBe(told[other]);
  },
);
