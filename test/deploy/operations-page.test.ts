import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parseLocalRules } from '../../services/node-executor/local-file.ts';
import { REPOSITORY, textOf, verbNamed } from './files.ts';
import { codeBlocks, localLinks, tableRows } from './markdown.ts';

const page = textOf('docs/operations.md');
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(REPOSITORY, 'docs')).map((name) => `docs/${name}`),
];

test.each(pages)('%s links to what exists', (path) => {
  const missing = localLinks(textOf(path)).filter(
    (target) => !existsSync(join(REPOSITORY, dirname(path), target)),
  );
  expect(missing).toEqual([]);
});

test('the default port of each verb', () => {
  for (const [verb = '', , port] of tableRows(page, 'verb')) {
    const standard = verbNamed(verb).options.find(({ key }) => key === 'httpAddress')?.default;
    expect(`${verb} ${standard}`).toBe(`${verb} 127.0.0.1:${port}`);
  }
});

test('the metrics are those that the code has', () => {
  const told = tableRows(page, 'metric').map(([name]) => name);
  expect(told.toSorted()).toEqual(metricsInCode().toSorted());
});

/** By the calls that make them; the only ones with names from a list are the gauges of filesystems. */
function metricsInCode(): readonly string[] {
  const sources = readdirSync(join(REPOSITORY, 'services'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(REPOSITORY, 'services', file), 'utf8'));
  const called = sources.flatMap((text) => [
    ...text.matchAll(/metrics\.(?:count|distribution|gauge)\(\s*([^\s,]+),/g),
  ]);
  const literal = called.flatMap(([, name = '']) => (name.startsWith("'") ? [name.slice(1, -1)] : []));
  const listed = sources.flatMap((text) =>
    [...text.matchAll(/^ {2}\['(filesystem_[a-z_]+)',/gm)].map(([, name = '']) => name),
  );
  expect(called.length - literal.length).toBe(1);
  expect(listed).toHaveLength(4);
  return [...new Set([...literal, ...listed])].map((name) => `fleetgc_${name}`);
}

test.each(codeBlocks(page, 'yaml'))('the example of a node is understood: %s', (yaml) => {
  expect(parseLocalRules('node.yaml', yaml)).toMatchObject({ kind: 'rules' });
});
