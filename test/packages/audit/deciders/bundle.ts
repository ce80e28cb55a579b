import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type OutputChunk, rolldown } from 'rolldown';
import type { CorpusCase } from './corpus.ts';

const REPOSITORY = fileURLToPath(new URL('../../../../', import.meta.url));

/**
 * A decider with its parser and all that it stands on as one ES module, which needs Node.js alone. The same sources give the
 * same text, wherever they lie.
 */
export const bundleDecider = async (name: string, repository = REPOSITORY): Promise<string> =>
  (await bundleOf(`packages/deciders/${name}/bundle-entry.ts`, repository)).code;

/** The packages of npm that are in its bundle. */
export async function librariesOfDecider(name: string): Promise<readonly string[]> {
  const { moduleIds } = await bundleOf(`packages/deciders/${name}/bundle-entry.ts`);
  const names = moduleIds.flatMap((id) => /^.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1] ?? []);
  return [...new Set(names)].toSorted();
}

/** The parser of a topic's messages alone: where it is the same, so is what deciders read. */
export const bundleReader = async (topic: CorpusCase['topic']): Promise<string> =>
  (await bundleOf(PARSERS[topic])).code;

const PARSERS = {
  inventory: 'schemas/events/inventory.ts',
  diskStats: 'schemas/events/disk-stats.ts',
  clusterOwnership: 'schemas/events/ownership.ts',
  clusterPods: 'schemas/events/pods.ts',
  clusterExpiry: 'schemas/events/expiry.ts',
} as const;

async function bundleOf(file: string, repository = REPOSITORY): Promise<OutputChunk> {
  await using build = await rolldown({ cwd: repository, input: join(repository, file), platform: 'node' });
  const { output } = await build.generate({ format: 'esm', minify: true, codeSplitting: false });
  const [chunk, ...more] = output;
  if (more.length > 0) throw new Error(`the bundle of ${file} is more than one file`);
  return chunk;
}
