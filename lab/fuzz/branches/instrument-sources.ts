/** Preloaded into a process (`--import`): the product's sources count their branches. */
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { textOfSource } from '../../chaos/planted/plant-when-loaded.ts';
import { installCounters } from './counters.ts';
import { instrument } from './instrument.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');
const INSTRUMENTED = ['cli', 'packages', 'schemas', 'services'].map(
  (folder) => `${pathToFileURL(join(CHECKOUT, folder)).href}/`,
);

const isInstrumented = (url: string): boolean =>
  url.endsWith('.ts') && INSTRUMENTED.some((folder) => url.startsWith(folder));

let branches = 0;
const nextBranch = (): number => branches++;

installCounters();
registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    if (loaded.source == null || !isInstrumented(url)) return loaded;
    return { ...loaded, source: instrument(textOfSource(loaded.source), nextBranch) };
  },
});
