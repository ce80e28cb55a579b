import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const REPOSITORY = join(import.meta.dirname, '..');
const SOURCES = join(REPOSITORY, 'services/dashboard/page');
const STYLES = [
  'node_modules/uplot/dist/uPlot.min.css',
  ...['theme.css', 'page.css', 'legend.css', 'actions.css', 'clusters.css', 'policies.css', 'report.css'].map(
    (name) => `services/dashboard/page/${name}`,
  ),
];
const AS_THEY_ARE = ['index.html', 'icon.svg'];

/** Makes the files of the dashboard's page: one script, one style sheet, and what names both. */
export async function buildPage(directory: string): Promise<void> {
  await using build = await rolldown({
    cwd: REPOSITORY,
    input: { page: join(SOURCES, 'main.tsx') },
    platform: 'browser',
    tsconfig: join(SOURCES, 'tsconfig.json'),
    transform: { target: 'es2023' },
  });
  await build.write({
    dir: directory,
    format: 'esm',
    entryFileNames: '[name].js',
    codeSplitting: false,
    minify: true,
  });
  writeFileSync(
    join(directory, 'page.css'),
    STYLES.map((path) => readFileSync(join(REPOSITORY, path), 'utf8')).join('\n'),
  );
  for (const file of AS_THEY_ARE) copyFileSync(join(SOURCES, file), join(directory, file));
}
