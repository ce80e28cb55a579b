/** `npm run schemas`: writes the JSON Schemas, the AsyncAPI document and its page, and the definition of policies as objects. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { z } from 'zod';
import { asyncApiDocument } from './asyncapi/document.ts';
import { asyncApiPage } from './asyncapi/page.ts';
import { generateJsonSchemas } from './generate.ts';
import { policyDefinition } from './policy/policy-crd.ts';

const REPOSITORY = new URL('../', import.meta.url);

/** Where the JSON Schemas lie, one file each. */
export const GENERATED_DIRECTORY = new URL('schemas/generated/', REPOSITORY);

/** The release that these sources are to become. */
export const VERSION = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('package.json', REPOSITORY), 'utf8'))).version;

/** Where the definition of policies as Kubernetes objects lies. */
const POLICY_DEFINITIONS = ['deploy/helm/fleetgc/files/garbage-collection-policies.yaml'];

const policyDefinitionText = (): string =>
  `# The kind GarbageCollectionPolicy (docs/operating/policies-in-kubernetes.md). Written by: npm run schemas\n${stringify(policyDefinition(), { lineWidth: 0, aliasDuplicateObjects: false })}`;

/** Path in the repository, and content, of what is written beside the JSON Schemas. */
export const generateDocuments = (): ReadonlyMap<string, string> =>
  new Map([
    ['schemas/asyncapi.json', `${JSON.stringify(asyncApiDocument(VERSION), null, 2)}\n`],
    ['docs/reference/asyncapi.md', asyncApiPage(generateJsonSchemas())],
    ...POLICY_DEFINITIONS.map((path) => [path, policyDefinitionText()] as const),
  ]);

function write(): void {
  for (const stale of readdirSync(GENERATED_DIRECTORY)) rmSync(new URL(stale, GENERATED_DIRECTORY));
  for (const [file, content] of generateJsonSchemas())
    writeFileSync(new URL(file, GENERATED_DIRECTORY), content);
  for (const [path, content] of generateDocuments()) writeFileSync(new URL(path, REPOSITORY), content);
}

if (import.meta.main) write();
