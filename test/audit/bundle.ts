import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const entryOf = (name: string): string =>
  fileURLToPath(new URL(`../../services/${name}/frozen.ts`, import.meta.url));

/**
 * A decider with its parser and all that it stands on as one ES module, which needs Node.js alone. The same sources give the
 * same text, wherever they lie.
 */
export async function bundleDecider(name: string): Promise<string> {
  await using build = await rolldown({ input: entryOf(name), platform: 'node' });
  const { output } = await build.generate({ format: 'esm', minify: true, codeSplitting: false });
  const [{ code }, ...more] = output;
  if (more.length > 0) throw new Error(`the bundle of ${name} is more than one file`);
  return code;
}
