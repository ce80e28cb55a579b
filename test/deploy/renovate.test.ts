import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { librariesOfDecider } from '../packages/audit/deciders/bundle.ts';
import { SOURCE_DECIDERS } from '../packages/audit/deciders/source-deciders.ts';
import { REPOSITORY } from './files.ts';

const Rules = z.object({
  automerge: z.literal(false),
  packageRules: z.array(
    z.object({
      groupName: z.string().optional(),
      matchPackageNames: z.array(z.string()).default([]),
      automerge: z.boolean().optional(),
      enabled: z.boolean().optional(),
      prBodyNotes: z.array(z.string()).default([]),
    }),
  ),
});
const { packageRules } = Rules.parse(JSON.parse(readFileSync(join(REPOSITORY, 'renovate.json'), 'utf8')));
const versions: Readonly<Record<string, string>> = {
  ...packageJson.dependencies,
  ...packageJson.devDependencies,
  ...packageJson.optionalDependencies,
};

test('what makes the frozen deciders comes together, is never merged by itself, and says what to run', async () => {
  const group = packageRules.find(({ groupName }) => groupName === 'frozen deciders');
  expect(group).toMatchObject({ automerge: false });
  expect(group?.prBodyNotes.join('')).toContain('npm run freeze');
  const libraries = await Promise.all(SOURCE_DECIDERS.map(({ name }) => librariesOfDecider(name)));
  expect(group?.matchPackageNames.toSorted()).toEqual(
    [...new Set(['rolldown', ...libraries.flat()])].toSorted(),
  );
});

test('every package that a rule names is one of ours, and what the code refuses in another version is not offered', () => {
  const named = packageRules.flatMap(({ matchPackageNames }) => matchPackageNames);
  // `node` is the image.
  for (const name of named.filter((each) => each !== 'node')) expect(Object.keys(versions)).toContain(name);
  expect(packageRules.find(({ matchPackageNames }) => matchPackageNames.includes('kafkajs'))?.enabled).toBe(
    false,
  );
  for (const version of Object.values(versions)) expect(version).toMatch(/^(npm:[\w@/-]+@)?\d/);
});
