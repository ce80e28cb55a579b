import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { type Json, toJson } from '../../mutate/json.ts';
import { asArray, asObject } from '../../mutate/schema.ts';

/** Texts that are put into a file: where, in place of how many characters, and which. */
const Edits = z.array(z.tuple([z.int().nonnegative(), z.int().min(0).max(40), z.string()])).catch([]);

/** What inputs are like that become a file of YAML: documents, and what somebody did to the text afterwards. */
export const writtenSchema = (document: z.ZodType): z.ZodType =>
  z.object({ documents: z.array(document), edits: Edits });

export const written = (...documents: readonly unknown[]): Json => ({
  documents: documents.map(toJson),
  edits: [],
});

/** A document that is text stands there as it is. */
export function yamlIn(input: Json): string {
  const { documents, edits } = asObject(input);
  const text = asArray(documents)
    .map((document) => (typeof document === 'string' ? document : stringify(document)))
    .join('\n---\n');
  return edited(text, edits ?? []);
}

/** The text with what somebody did to it. */
export function edited(text: string, edits: Json): string {
  let now = text;
  for (const [at, length, added] of Edits.parse(edits)) {
    const from = at % (now.length + 1);
    now = now.slice(0, from) + added + now.slice(from + length);
  }
  return now;
}

export const isUntouched = (input: Json): boolean => asArray(asObject(input).edits).length === 0;

/** In place of the one before. What is written over, filesystems bring to the disk at once, which takes a hundred times as long. */
export function putFile(path: string, content: string | Buffer): void {
  rmSync(path, { force: true });
  writeFileSync(path, content);
}

let directory: string | null = null;

/** For a file of this name, as long as the process runs. */
export function placeFor(name: string): string {
  if (directory === null) {
    const made = mkdtempSync(join(tmpdir(), 'fleetgc-fuzz-'));
    process.once('exit', () => rmSync(made, { recursive: true, force: true }));
    directory = made;
  }
  return join(directory, name);
}
