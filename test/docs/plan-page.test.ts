import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EvictionSignal } from '../../schemas/policy/eviction.ts';
import { Plan, PlanFailure, PlannedObject } from '../../schemas/reports/plan.ts';
import { inProcess } from '../cli/fleetgc.ts';
import { textOf } from '../deploy/files.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { codeBlocks, tableRows } from './markdown.ts';

const page = textOf('docs/reference/plan.md');
const [inventory = ''] = codeBlocks(page, 'json');
const [policy = ''] = codeBlocks(page, 'yaml');
const [table = '', , failure = ''] = codeBlocks(page, 'text');

function examples(): readonly string[] {
  const directory = temporaryDirectory();
  const paths = { inventory: join(directory, 'inventory.json'), policy: join(directory, 'policy.yaml') };
  writeFileSync(paths.inventory, inventory);
  writeFileSync(paths.policy, policy);
  return ['plan', '--inventory', paths.inventory, '--policy', paths.policy];
}

test('the example is what the command prints', async () => {
  expect(await inProcess(examples())).toEqual({ exitCode: 0, stdout: table, stderr: '' });
});

test('every field has a row, and every row is a field', async () => {
  const { stdout } = await inProcess([...examples(), '-o', 'json']);
  const made = Plan.parse(JSON.parse(stdout));

  expect(['type', 'version', ...tableRows(page, 'field').map(([name]) => name)].toSorted()).toEqual(
    Object.keys(made).toSorted(),
  );
  for (const field of Object.keys(PlannedObject.shape)) expect(page).toContain(`\`${field}\``);
  for (const kind of PlannedObject.shape.kind.options) expect(page).toContain(`\`${kind}\``);
});

test('an answer to a wrong line is one', () => {
  expect(PlanFailure.safeParse(JSON.parse(failure)).success).toBe(true);
});

test('a signal that stands for all of them is one', () => {
  const [, , , named = ''] = tableRows(page, 'trigger').map(([name = '']) => name);
  const [, signal] = /`eviction:([a-zA-Z.]+)`/.exec(named) ?? [];
  expect(EvictionSignal.options).toContain(signal);
});
