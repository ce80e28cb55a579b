import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { POLICY_DEFAULTS } from '../../schemas/policy/policy-defaults.ts';
import { POLICY_SETTINGS } from '../../schemas/policy/policy-file.ts';
import { inProcess } from '../cli/fleetgc.ts';
import { textOf } from '../deploy/files.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { codeBlocks, tableRows } from './markdown.ts';

const page = textOf('docs/reference/policies.md');
const rows = tableRows(page, 'key');

test('every key has a row, and every row is a key', () => {
  const keys = Object.entries(POLICY_SETTINGS).flatMap(([section, names]) =>
    names.map((name) => (section === '' ? name : `${section}.${name}`)),
  );
  expect(rows.map(([key]) => key).toSorted()).toEqual(keys.toSorted());
});

test.each(Object.entries(POLICY_DEFAULTS))('the default of %s is %s', (key, value) => {
  expect(rows.find(([name]) => name === key)?.[1]).toBe(String(value));
});

test('what has no default says so', () => {
  const required = rows.filter(([, standard]) => standard === 'required').map(([key]) => key);
  expect(required.toSorted()).toEqual(['mode', 'name']);
});

test.each(codeBlocks(page, 'yaml'))('example is valid: %s', async (yaml) => {
  const path = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(path, yaml);
  const { exitCode, stderr } = await inProcess(['policy', 'validate', path]);
  expect({ exitCode, isSaid: stderr.includes('keep images from FleetGC alone') }).toEqual({
    exitCode: 0,
    isSaid: /^ {2}(images|digests|labels):/m.test(yaml),
  });
  expect(stderr).not.toMatch(/warning|problem/);
});
