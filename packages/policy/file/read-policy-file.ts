import type { Policy } from '../../../schemas/policy/policy.ts';
import { PolicyFile } from '../../../schemas/policy/policy-file.ts';
import { byPlace, type Problem } from './problem.ts';
import { schemaProblems } from './schema-problems.ts';
import { warningsOn } from './warnings.ts';
import { parseYaml, type YamlDocument } from './yaml-document.ts';

/** A file that people wrote: its name as they gave it, and its text. */
export interface PolicyText {
  readonly file: string;
  readonly text: string;
}

/** A policy that was read, and the text it was read from. */
export interface WrittenPolicy {
  readonly policy: Policy;
  readonly source: string;
}

/** Either every policy of every file, or every problem of every file: half a set of policies is not to be had. */
export type PolicyFiles =
  | {
      readonly valid: true;
      readonly policies: readonly WrittenPolicy[];
      readonly warnings: readonly Problem[];
    }
  | { readonly valid: false; readonly problems: readonly Problem[] };

/** Settings that replace what is written; the policy is checked as if it said so itself. */
export type PolicyOverride = Partial<Pick<Policy, 'profile'>>;

interface DocumentReading {
  readonly policies: readonly WrittenPolicy[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** Reads policy files strictly and reports all problems at once, file by file, in the order of the lines (B12). */
export function readPolicyFiles(files: readonly PolicyText[], override: PolicyOverride = {}): PolicyFiles {
  const parsed = files.map(({ file, text }) => ({ file, documents: parseYaml(file, text) }));
  const repeated = repeatedNames(parsed.flatMap(({ documents }) => documents));
  const readings = parsed.map(({ file, documents }) => ({
    file,
    readings: documents.map((document) => readDocument(document, override)),
  }));
  const problems = readings.flatMap(({ file, readings: ofFile }) =>
    [
      ...(ofFile.length === 0 ? [emptyFile(file)] : ofFile.flatMap((reading) => reading.problems)),
      ...repeated.filter((problem) => problem.file === file),
    ].toSorted(byPlace),
  );
  if (problems.length > 0) return { valid: false, problems };
  const all = readings.flatMap(({ readings: ofFile }) => ofFile);
  return {
    valid: true,
    policies: all.flatMap(({ policies }) => policies),
    warnings: all.flatMap(({ warnings }) => warnings),
  };
}

function readDocument(document: YamlDocument, override: PolicyOverride): DocumentReading {
  if (!document.wellFormed) return { policies: [], problems: document.problems, warnings: [] };
  const { data, error } = PolicyFile.safeParse(overridden(document.value, override));
  const problems = [...document.problems, ...(error ? schemaProblems(error, document) : [])];
  if (!data || problems.length > 0) return { policies: [], problems, warnings: [] };
  return {
    policies: [{ policy: data, source: document.source }],
    problems,
    warnings: warningsOn(data, document).toSorted(byPlace),
  };
}

/** What is no map of settings is left for the schema to refuse. */
export const overridden = (written: unknown, override: PolicyOverride): unknown =>
  typeof written === 'object' && written !== null && !Array.isArray(written)
    ? { ...written, ...override }
    : written;

const emptyFile = (file: string): Problem => ({
  file,
  line: 1,
  column: 1,
  path: '',
  message: 'there is no policy in this file',
});

/** Looks at what is written as a name, so that a repetition is told along with whatever else is wrong. */
function repeatedNames(documents: readonly YamlDocument[]): readonly Problem[] {
  const firstFiles = new Map<string, string>();
  return documents.flatMap((document) => {
    const name = nameIn(document.value);
    if (name === undefined) return [];
    const place = document.placeOf(['name']);
    const firstFile = firstFiles.get(name);
    firstFiles.set(name, firstFile ?? place.file);
    if (firstFile === undefined) return [];
    const where = firstFile === place.file ? 'above' : `in ${firstFile}`;
    return [{ ...place, path: 'name', message: `there is another policy named ${name} ${where}` }];
  });
}

const nameIn = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string'
    ? value.name
    : undefined;
