import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Collector } from '../../schemas/policy/cluster-policy.ts';
import {
  CLUSTER_POLICY_DEFAULTS,
  DEFAULT_LIMITS,
  HELD_KINDS,
} from '../../schemas/policy/cluster-policy-defaults.ts';
import { CLUSTER_POLICY_SETTINGS } from '../../schemas/policy/cluster-policy-file.ts';
import { inProcess } from '../cli/fleetgc.ts';
import { textOf } from '../deploy/files.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { codeBlocks, tableRows } from './markdown.ts';

const page = textOf('docs/reference/cluster-policies.md');
const rows = tableRows(page, 'key');

test('every key has a row, and every row is a key', () => {
  const keys = Object.entries(CLUSTER_POLICY_SETTINGS).flatMap(([section, names]) =>
    names.map((name) => (section === '' ? name : `${section}.${name}`)),
  );
  expect(rows.map(([key]) => key).toSorted()).toEqual(keys.toSorted());
});

const limits = Object.entries(DEFAULT_LIMITS).map(([name, value]) => [`limits.${name}`, value] as const);
test.each([...Object.entries(CLUSTER_POLICY_DEFAULTS), ...limits])(
  'the default of %s is %s',
  (key, value) => {
    expect(rows.find(([name]) => name === key)?.[1]).toBe(String(value));
  },
);

test('what has no default says so', () => {
  const required = rows.filter(([, standard]) => standard === 'required').map(([key]) => key);
  expect(required.toSorted()).toEqual(['kind', 'mode', 'name', 'rules.kinds', 'rules.name']);
});

test.each([...HELD_KINDS, ...Collector.options])('%s is named', (name) => {
  expect(page).toContain(`\`${name}\``);
});

test.each(codeBlocks(page, 'yaml'))('example is valid: %s', async (yaml) => {
  const path = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(path, yaml);
  expect(await inProcess(['policy', 'validate', path])).toMatchObject({ exitCode: 0, stderr: '' });
});
