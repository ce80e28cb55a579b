import { z } from 'zod';
import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
import {
  CLUSTER_POLICY_KIND,
  CLUSTER_POLICY_SETTINGS,
  ClusterPolicyFile,
} from '../../../schemas/policy/cluster-policy-file.ts';
import { clusterOfKubernetesPolicy } from '../../../schemas/policy/kubernetes-policies.ts';
import { keyOfPolicyNamed, type Policy } from '../../../schemas/policy/policy.ts';
import { PolicyFile } from '../../../schemas/policy/policy-file.ts';
import { pastedKubeletAdvice } from '../from-kubelet/from-kubelet.ts';
import { schemaProblems } from './schema-problems.ts';
import { clusterWarningsOn, warningsOn } from './warnings.ts';
import {
  byPlace,
  type PolicyText,
  type Problem,
  parseYaml,
  problemAt,
  type YamlDocument,
} from './yaml-document.ts';

/** A policy that was read, and the text it was read from. */
export interface WrittenPolicy {
  readonly policy: Policy;
  readonly source: string;
}

/** The same for clusters. */
export interface WrittenClusterPolicy {
  readonly policy: ClusterPolicy;
  readonly source: string;
}

/** The same for any kind of subject. */
export type AnyWrittenPolicy =
  | (WrittenPolicy & { readonly subject: 'node' })
  | (WrittenClusterPolicy & { readonly subject: 'cluster' });

/** Either every policy of every file, or every problem of every file: half a set of policies is not to be had. */
export type PolicyFilesOf<Written> =
  | {
      readonly valid: true;
      readonly policies: readonly Written[];
      readonly warnings: readonly Problem[];
    }
  | { readonly valid: false; readonly problems: readonly Problem[] };

/** Policies for nodes. */
export type PolicyFiles = PolicyFilesOf<WrittenPolicy>;

/** Settings that replace what is written; the policy is checked as if it said so itself. */
export type PolicyOverride = Partial<Pick<Policy, 'profile'>>;

interface DocumentReading<Written> {
  readonly policies: readonly Written[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** Reads files of policies for nodes strictly and reports all problems at once, file by file, in the order of the lines (B12). */
export const readPolicyFiles = (files: readonly PolicyText[], override: PolicyOverride = {}): PolicyFiles =>
  readFiles(files, (document) =>
    isForClusters(document) ? notForNodes(document) : readNodePolicyOfFile(document, override),
  );

/** One policy for nodes that lies in Kubernetes as an object, in a name that no file may give. */
export const readPolicyOfKubernetes = (text: PolicyText, mostProblems: number): PolicyFiles =>
  readFiles(
    [text],
    (document) =>
      isForClusters(document) ? notForNodes(document) : readNodePolicy(document, {}, mostProblems),
    mostProblems,
  );

/** The same of policies for clusters. */
export const readClusterPolicyFiles = (files: readonly PolicyText[]): PolicyFilesOf<WrittenClusterPolicy> =>
  readFiles(files, (document) =>
    isForClusters(document) ? readClusterPolicy(document) : notForClusters(document),
  );

/** The same of policies for any kind of subject. Beyond `mostProblems` none is looked for: each takes its time, and its memory. */
export const readAnyPolicyFiles = (
  files: readonly PolicyText[],
  { mostProblems = ALL }: { readonly mostProblems?: number } = {},
): PolicyFilesOf<AnyWrittenPolicy> => {
  const read = (document: YamlDocument): DocumentReading<AnyWrittenPolicy> =>
    isForClusters(document)
      ? marked(readClusterPolicy(document, mostProblems), { subject: 'cluster' })
      : marked(readNodePolicyOfFile(document, {}, mostProblems), { subject: 'node' });
  return readFiles(files, read, mostProblems);
};

const ALL = Number.POSITIVE_INFINITY;

const marked = <Written extends object, const Mark extends object>(
  { policies, ...reading }: DocumentReading<Written>,
  mark: Mark,
): DocumentReading<Written & Mark> => ({
  ...reading,
  policies: policies.map((policy) => ({ ...policy, ...mark })),
});

function readFiles<Written>(
  files: readonly PolicyText[],
  read: (document: YamlDocument) => DocumentReading<Written>,
  mostProblems = ALL,
): PolicyFilesOf<Written> {
  const parsed = files.map(({ file, text }) => ({ file, documents: parseYaml(file, text) }));
  const repeated = repeatedNames(parsed.flatMap(({ documents }) => documents))
    .take(mostProblems)
    .toArray();
  const readings = parsed.map(({ file, documents }) => ({
    file,
    readings: readDocuments(documents, read, mostProblems),
  }));
  const problems = readings.flatMap(({ file, readings: ofFile }) =>
    [
      ...(ofFile.length === 0 ? [emptyFile(file)] : ofFile.flatMap((reading) => reading.problems)),
      ...repeated.filter((problem) => problem.file === file),
    ].toSorted(byPlace),
  );
  if (problems.length > 0) return { valid: false, problems: problems.slice(0, mostProblems) };
  const all = readings.flatMap(({ readings: ofFile }) => ofFile);
  return {
    valid: true,
    policies: all.flatMap(({ policies }) => policies),
    warnings: all.flatMap(({ warnings }) => warnings),
  };
}

function readDocuments<Written>(
  documents: readonly YamlDocument[],
  read: (document: YamlDocument) => DocumentReading<Written>,
  mostProblems: number,
): readonly DocumentReading<Written>[] {
  const readings: DocumentReading<Written>[] = [];
  let found = 0;
  for (const document of documents) {
    if (found >= mostProblems) break;
    const reading = document.wellFormed ? read(document) : unreadable(document);
    readings.push(reading);
    found += reading.problems.length;
  }
  return readings;
}

const unreadable = ({ problems }: YamlDocument): DocumentReading<never> => ({
  policies: [],
  problems,
  warnings: [],
});

function readNodePolicy(
  document: YamlDocument,
  override: PolicyOverride,
  mostProblems = ALL,
): DocumentReading<WrittenPolicy> {
  const { data, error } = PolicyFile.safeParse(overridden(document.value, override));
  const faults = error ? schemaProblems(error, document).take(mostProblems) : [];
  const problems = [...document.problems, ...faults];
  if (!data || problems.length > 0) return { policies: [], problems, warnings: [] };
  return {
    policies: [{ policy: data, source: document.source }],
    problems,
    warnings: warningsOn(data, document).toSorted(byPlace),
  };
}

/** What an operator applies never takes the place of what a cluster brings, nor the other way round. */
function readNodePolicyOfFile(
  document: YamlDocument,
  override: PolicyOverride,
  mostProblems = ALL,
): DocumentReading<WrittenPolicy> {
  const advice = pastedKubeletAdvice(document.placeOf([]).file, document);
  if (advice !== null)
    return {
      policies: [],
      problems: [...document.problems, { ...problemAt(document, [], advice.message), ...advice }],
      warnings: [],
    };
  return clusterOfKubernetesPolicy(textIn(document.value, 'name') ?? '') === null
    ? readNodePolicy(document, override, mostProblems)
    : nameOfKubernetes(document);
}

function readClusterPolicy(
  document: YamlDocument,
  mostProblems = ALL,
): DocumentReading<WrittenClusterPolicy> {
  const { data, error } = ClusterPolicyFile.safeParse(document.value);
  const faults = error ? schemaProblems(error, document, CLUSTER_POLICY_SETTINGS).take(mostProblems) : [];
  const problems = [...document.problems, ...faults];
  if (!data || problems.length > 0) return { policies: [], problems, warnings: [] };
  return {
    policies: [{ policy: data, source: document.source }],
    problems,
    warnings: clusterWarningsOn(data, document).toSorted(byPlace),
  };
}

const isForClusters = ({ value }: YamlDocument): boolean => textIn(value, 'kind') === CLUSTER_POLICY_KIND;

const refused = (document: YamlDocument, why: string): DocumentReading<never> => ({
  policies: [],
  problems: [...document.problems, problemAt(document, ['kind'], why)],
  warnings: [],
});

const notForNodes = (document: YamlDocument): DocumentReading<never> =>
  refused(document, 'only policies for nodes are taken here; fleetgc cluster run takes those for clusters');

const nameOfKubernetes = (document: YamlDocument): DocumentReading<never> => ({
  policies: [],
  problems: [...document.problems, problemAt(document, ['name'], NAME_OF_KUBERNETES)],
  warnings: [],
});

const NAME_OF_KUBERNETES =
  'such a name, with two dots before the last part, is that of a policy that lies in Kubernetes as an object: change the object, or take another name';

const notForClusters = (document: YamlDocument): DocumentReading<never> =>
  refused(document, `only policies for clusters are taken here: they say kind: ${CLUSTER_POLICY_KIND}`);

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

/**
 * Looks at what is written as a name, so that a repetition is told along with whatever else is wrong. A policy for nodes and one for
 * clusters may have the same.
 */
function* repeatedNames(documents: readonly YamlDocument[]): Generator<Problem, void> {
  const firstFiles = new Map<string, string>();
  for (const document of documents) {
    const name = textIn(document.value, 'name');
    if (name === undefined) continue;
    const place = document.placeOf(['name']);
    const key = keyOfPolicyNamed(isForClusters(document) ? 'cluster' : 'node', name);
    const firstFile = firstFiles.get(key);
    firstFiles.set(key, firstFile ?? place.file);
    if (firstFile === undefined) continue;
    const where = firstFile === place.file ? 'above' : `in ${firstFile}`;
    yield { ...place, path: 'name', message: `there is another policy named ${name} ${where}` };
  }
}

const Texts = z.looseObject({
  kind: z.string().optional().catch(undefined),
  name: z.string().optional().catch(undefined),
});

const textIn = (value: unknown, name: 'kind' | 'name'): string | undefined =>
  Texts.safeParse(value).data?.[name];
