import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { ObjectKind } from '../../schemas/events/object-kinds.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { REPOSITORY, textOf } from '../deploy/files.ts';
import { codeBlocks, tableRows } from './markdown.ts';
import { attributesInPage, spansInPage, variablesInPage } from './told-spans.ts';

const page = textOf('docs/operating/traces.md');
const sources = globSync('{packages,services}/**/*.ts', { cwd: REPOSITORY }).map((file) =>
  readFileSync(join(REPOSITORY, file), 'utf8'),
);
const found = (pattern: RegExp): readonly string[] =>
  [
    ...new Set(sources.flatMap((text) => [...text.matchAll(pattern)].map(([, name = '']) => name))),
  ].toSorted();

test('the attributes are those that the code has', () => {
  const inCode = found(
    /'((?:messaging|k8s|fleetgc\.(?:command|decision|inventory|object|reclaim)|error)\.[a-z_.]+)'(?::|,)/g,
  );
  expect(attributesInPage.toSorted()).toEqual(inCode);
});

test('spans of messages are about topics, those of objects about kinds, and the others are in the code', () => {
  const topics = Object.values(TOPICS).map(({ name }) => String(name));
  const kinds = ObjectKind.options.map((kind) => `remove ${kind}`);
  const ofMessages = spansInPage.filter((name) => /^(process|send) /.test(name));
  for (const name of ofMessages) expect(topics).toContain(name.replace(/^\w+ /, ''));
  expect(spansInPage.filter((name) => name.startsWith('remove ')).toSorted()).toEqual(kinds.toSorted());
  const others = spansInPage.filter((name) => !/^(process|send|remove) /.test(name));
  expect(others.toSorted()).toEqual(found(/^ +name: '([a-z ]+)',\n +kind: 'internal'/gm));
});

test('each variable that is read here is on the page', () => {
  const read = textOf('cli/options/common-options.ts').matchAll(/environment\.(OTEL_[A-Z_]+)/g);
  for (const [, name = ''] of read) expect(variablesInPage).toContain(name);
});

test('the configuration of a collector is YAML, and the tree names spans of the table', () => {
  expect(parse(codeBlocks(page, 'yaml')[0] ?? '')).toMatchObject({ service: { pipelines: {} } });
  const tree = /^send gc\.node\.disk-stats {2,}[\s\S]*?^```/m.exec(page)?.[0] ?? '';
  const names = [...tree.matchAll(/^[ │├└─]*((?:send|process|take|carry|remove) [a-z.-]+(?: [a-z]+)?)/gm)];
  expect(names.length).toBeGreaterThan(10);
  for (const [, name = ''] of names) expect(spansInPage).toContain(name);
  expect(tableRows(page, 'span').every((row) => row.length === 3)).toBe(true);
});
