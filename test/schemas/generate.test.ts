import { readdirSync, readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { TOPICS, type TopicSpec } from '../../schemas/events/topics.ts';
import { FILES_OF_THE_LOG, generateJsonSchemas } from '../../schemas/generate.ts';
import { GENERATED_DIRECTORY, generateDocuments } from '../../schemas/write.ts';
import { textOf } from '../deploy/files.ts';

const generated = generateJsonSchemas();

test('schemas/generated is up to date; `npm run schemas` renews it', () => {
  const files = readdirSync(GENERATED_DIRECTORY);
  const onDisk = new Map(
    files.map((file) => [file, readFileSync(new URL(file, GENERATED_DIRECTORY), 'utf8')]),
  );

  expect([...onDisk.keys()].toSorted()).toEqual([...generated.keys()].toSorted());
  for (const [file, content] of generated) expect(onDisk.get(file), file).toBe(content);
});

test('every event that may stand on a topic has a schema', () => {
  const types = Object.values<TopicSpec>(TOPICS)
    .flatMap(({ schemas }) => schemas)
    .flatMap((schema) => [
      ...JSON.stringify(z.toJSONSchema(schema)).matchAll(/"const":"(fleetgc\.[a-z.-]+)"/g),
    ])
    .map(([, type]) => `${type}.v1.schema.json`);

  expect(types.length).toBeGreaterThan(0);
  expect([...generated.keys()]).toEqual(expect.arrayContaining(types));
});

test.each([...generateDocuments()])('%s is up to date; `npm run schemas` renews it', (path, content) => {
  expect(textOf(path)).toBe(content);
});

const isOfTheLog = (file: string): boolean => FILES_OF_THE_LOG.includes(file);

// One for all: a new one compiles the schema of schemas first.
const SETTINGS = {
  strict: true,
  allowUnionTypes: true,
  formats: { uuid: true },
  code: { optimize: false },
} as const;
const toolOfTheLog = new Ajv(SETTINGS);
const otherTool = new Ajv2020(SETTINGS);
for (const [file, text] of generated)
  (isOfTheLog(file) ? toolOfTheLog : otherTool).addSchema(JSON.parse(text), file);

test.each([...generated.keys()])('%s is a JSON Schema that other tools understand', (file) => {
  expect((isOfTheLog(file) ? toolOfTheLog : otherTool).getSchema(file)).toBeTypeOf('function');
});

test('every schema has an absolute name of its own, which ends with its file and tells its version', () => {
  const ids = [...generated].map(([file, text]): string => {
    const { $id } = z.object({ $id: z.url() }).parse(JSON.parse(text));
    expect($id.endsWith(`/${file}`), file).toBe(true);
    expect($id, file).toMatch(/^https:\/\/fleetgc\.io\/schemas\/(v\d+\/|.*\.v\d+\.schema\.json$)/);
    return $id;
  });
  expect(new Set(ids).size).toBe(generated.size);
});

test('the schema of a policy file accepts what people write and refuses a misspelt key', () => {
  const validate = otherTool.getSchema('policy-file.schema.json');

  expect(validate?.({ name: 'web', mode: 'enforce', keep: { images: ['registry.example/**'] } })).toBe(true);
  expect(validate?.({ name: 'web', mode: 'enforce', kep: {} })).toBe(false);
  expect(validate?.({ name: 'web' })).toBe(false);
});
