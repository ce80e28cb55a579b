import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import type { CorpusCase } from './corpus.ts';

const pathOf = (file: string): string => fileURLToPath(new URL(`../../../../${file}`, import.meta.url));

/**
 * A decider with its parser and all that it stands on as one ES module, which needs Node.js alone. The same sources give the
 * same text, wherever they lie.
 */
export const bundleDecider = (name: string): Promise<string> => bundleOf(`services/${name}/bundle-entry.ts`);

/** The parser of a topic's messages alone: where it is the same, so is what deciders read. */
export const bundleReader = (topic: CorpusCase['topic']): Promise<string> => bundleOf(PARSERS[topic]);

const PARSERS = {
  inventory: 'schemas/events/inventory.ts',
  diskStats: 'schemas/events/disk-stats.ts',
  clusterOwnership: 'schemas/events/ownership.ts',
  clusterPods: 'schemas/events/pods.ts',
  clusterExpiry: 'schemas/events/expiry.ts',
} as const;

async function bundleOf(file: string): Promise<string> {
  await using build = await rolldown({ input: pathOf(file), platform: 'node' });
  const { output } = await build.generate({ format: 'esm', minify: true, codeSplitting: false });
  const [{ code }, ...more] = output;
  if (more.length > 0) throw new Error(`the bundle of ${file} is more than one file`);
  return code;
}
