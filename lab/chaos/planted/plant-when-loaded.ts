import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { replacedOnce } from './plant.ts';
import type { PlantedBug } from './planted.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');

const urlOf = (file: string): string => pathToFileURL(join(CHECKOUT, file)).href;

export const textOfSource = (source: string | ArrayBuffer | NodeJS.TypedArray): string =>
  typeof source === 'string' ? source : new TextDecoder().decode(source);

/** From now on this process loads the sources with the bug in them that `PLANTED_BUG` names. */
export function plantWhenLoaded(bugs: readonly PlantedBug[]): void {
  const name = process.env.PLANTED_BUG;
  const bug = bugs.find((one) => one.name === name);
  if (bug === undefined) throw new Error(`PLANTED_BUG names no planted bug: ${name}`);
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context);
      const edits = bug.edits.filter(({ file }) => urlOf(file) === url);
      if (edits.length === 0 || loaded.source == null) return loaded;
      const source = edits.reduce(
        (text, { file, old, now }) => replacedOnce(text, old, now, file),
        textOfSource(loaded.source),
      );
      return { ...loaded, source };
    },
  });
}
