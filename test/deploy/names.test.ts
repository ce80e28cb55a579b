import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readVerbArguments } from '../../cli/framework/verb-arguments.ts';
import { findVerb } from '../../cli/verbs.ts';
import { REPOSITORY, textOf, verbNamed, verbs } from './files.ts';

const filesOf = (folder: string): readonly string[] =>
  readdirSync(join(REPOSITORY, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(REPOSITORY.length + 1));

const files = ['Dockerfile', 'docker-compose.yml', 'README.md', ...filesOf('deploy'), ...filesOf('docs')].map(
  (path) => ({
    path,
    text: textOf(path),
  }),
);

/** Read by the command line itself, by the compose file, or made up in a sentence about all of them. */
const OTHER_VARIABLES = ['FLEETGC_CONFIG', 'FLEETGC_IMAGE'];
const variables = new Set([
  ...verbs.flatMap(({ options }) => options.map(({ variable }) => variable)),
  ...OTHER_VARIABLES,
]);
const flags = new Set([
  ...verbs.flatMap(({ options }) => options.flatMap(({ flag }) => [flag, flag.replace('--', '--no-')])),
  '--config',
  '--help',
  '--version',
]);

test.each(files)('$path names only variables that there are', ({ text }) => {
  const named = [...text.matchAll(/\bFLEETGC_[A-Z0-9_]*[A-Z0-9]/g)].map(([name]) => name);
  expect(named.filter((name) => !variables.has(name))).toEqual([]);
});

/** These pages speak of the options of Node.js, and of programs that are not shipped. */
const OTHER_OPTIONS = [
  'docs/reference/performance.md',
  'docs/how-it-works/chaos.md',
  'docs/how-it-works/compare.md',
  'docs/how-it-works/fuzz.md',
  'docs/how-it-works/mutation.md',
  'docs/operating/platforms.md',
];
const pages = files.filter(({ path }) => path.endsWith('.md') && !OTHER_OPTIONS.includes(path));

test.each(pages)('$path names only options that there are', ({ text }) => {
  const named = [...text.matchAll(/`(--[a-z][a-z0-9-]*)/g)].map(([, flag = '']) => flag);
  expect(named.filter((flag) => !flags.has(flag))).toEqual([]);
});

/** Commands in code, without what a shell makes of them. */
const commandsIn = (text: string): readonly string[] =>
  [...text.matchAll(/(?:^|`|\$ |\/bin\/|--rm |-- )fleetgc ([a-z-][^`\n]*)/gm)].map(([, command = '']) =>
    command
      .replace(/\\$/, '')
      .replace(/ [|<>#].*$/, '')
      .trim(),
  );

const commands = files
  .filter(({ path }) => path.endsWith('.md'))
  .flatMap(({ path, text }) => commandsIn(text).map((command) => ({ path, command })));

describe('commands of the documentation', () => {
  test.each(commands)('$path: fleetgc $command', ({ command }) => {
    const words = [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '');
    const wanted = findVerb(words);
    if (wanted.kind === 'verb' && wanted.rest.length > 0)
      readVerbArguments(verbNamed(wanted.verb.name), wanted.rest);
    expect(wanted.kind).toMatch(/verb|version|family|overview/);
  });
});
