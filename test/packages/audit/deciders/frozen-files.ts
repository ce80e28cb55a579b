import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { BUNDLE_DIRECTORY } from '../../../../packages/audit/deciders/deciders.ts';

/**
 * By the name of a bundle: the SHA-256 of its file, that of its parser alone, and whether a release carries it, after which it
 * never changes.
 */
const Hashes = z.record(
  z.string(),
  z.strictObject({ sha256: z.string(), reader: z.string(), released: z.boolean() }),
);
/** By the name of a bundle and of a case of the corpus: the SHA-256 of what the decider gives. */
const Outputs = z.record(z.string(), z.record(z.string(), z.string()));

const HASHES = { file: new URL('hashes.json', BUNDLE_DIRECTORY), schema: Hashes };
const OUTPUTS = { file: new URL('corpus-outputs.json', import.meta.url), schema: Outputs };

interface JsonFile<Content> {
  readonly file: URL;
  readonly schema: z.ZodType<Content>;
}

const read = <Content>({ file, schema }: JsonFile<Content>): Content =>
  schema.parse(JSON.parse(readFileSync(file, 'utf8')));
const write = <Content>({ file }: JsonFile<Content>, content: Content): void =>
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);

export type Hashes = z.infer<typeof Hashes>;
export type Outputs = z.infer<typeof Outputs>;

export const readHashes = (): Hashes => read(HASHES);
export const readOutputs = (): Outputs => read(OUTPUTS);
export const writeHashes = (hashes: Hashes): void => write(HASHES, hashes);
export const writeOutputs = (outputs: Outputs): void => write(OUTPUTS, outputs);
