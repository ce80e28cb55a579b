/** Preloaded into a process (`--import`): the sources are loaded with the bug in them that `PLANTED_BUG` names. */
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { replacedOnce } from '../../chaos/planted/plant.ts';
import { PLANTED } from './planted.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');

const name = process.env.PLANTED_BUG;
const bug = PLANTED.find((one) => one.name === name);
if (bug === undefined) throw new Error(`PLANTED_BUG names no planted bug: ${name}`);
const urlOf = (file: string): string => pathToFileURL(join(CHECKOUT, file)).href;

const textOf = (source: string | ArrayBuffer | NodeJS.TypedArray): string =>
  typeof source === 'string' ? source : new TextDecoder().decode(source);

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    const edits = bug.edits.filter(({ file }) => urlOf(file) === url);
    if (edits.length === 0 || loaded.source == null) return loaded;
    const source = edits.reduce(
      (text, { file, old, now }) => replacedOnce(text, old, now, file),
      textOf(loaded.source),
    );
    return { ...loaded, source };
  },
});
