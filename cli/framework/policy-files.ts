import type { Logger } from 'pino';
import { policySet } from '../../packages/decision/policy-set.ts';
import {
  type AnyWrittenPolicy,
  type PolicyFiles,
  type PolicyFilesOf,
  type PolicyOverride,
  readAnyPolicyFiles,
  readClusterPolicyFiles,
  readPolicyFiles,
  type WrittenClusterPolicy,
} from '../../packages/policy/file/read-policy-file.ts';
import { type PolicyText, type Problem, problemText } from '../../packages/policy/file/yaml-document.ts';
import { toClusterPolicyRecord } from '../../packages/policy/policy-changes.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { fileText, readTextFile } from '../../packages/process/options/named-file.ts';
import { MAX_YAML_BYTES } from '../../packages/process/options/yaml.ts';
import { type ClusterPolicyRecord, Collector } from '../../schemas/policy/cluster-policy.ts';
import { selectPolicy } from '../../schemas/policy/policy-selection.ts';
import type { ClusterPolicyChoice } from '../options/policy-options.ts';

/** Reads files of policies for nodes that an operator named; one that cannot be read is a problem among the others. */
export const loadPolicyFiles = (paths: readonly string[], override: PolicyOverride = {}): PolicyFiles =>
  loadFiles(paths, (files) => readPolicyFiles(files, override));

/** The same of policies for clusters. */
export const loadClusterPolicyFiles = (paths: readonly string[]): PolicyFilesOf<WrittenClusterPolicy> =>
  loadFiles(paths, readClusterPolicyFiles);

/** The same of policies for any kind of subject. */
export const loadAnyPolicyFiles = (paths: readonly string[]): PolicyFilesOf<AnyWrittenPolicy> =>
  loadFiles(paths, readAnyPolicyFiles);

function loadFiles<Written>(
  paths: readonly string[],
  readFiles: (files: readonly PolicyText[]) => PolicyFilesOf<Written>,
): PolicyFilesOf<Written> {
  const files = paths.map((path) => ({ file: fileText(path), read: readTextFile(path, MAX_YAML_BYTES) }));
  const unreadable = files.flatMap(({ file, read }): Problem[] =>
    read.ok ? [] : [{ file, line: 1, column: 1, path: '', message: `cannot be read: ${read.reason}` }],
  );
  const readable = files.flatMap(({ file, read }) => (read.ok ? [{ file, text: read.text }] : []));
  const policies = readFiles(readable);
  if (unreadable.length === 0) return policies;
  return { valid: false, problems: [...unreadable, ...(policies.valid ? [] : policies.problems)] };
}

/** Reads one file that an operator named. Throws `USAGE` when it cannot be read. */
export function readNamedFile(path: string): PolicyText {
  const file = fileText(path);
  const read = readTextFile(path, MAX_YAML_BYTES);
  if (!read.ok) throw new FleetGcError('USAGE', `${file} cannot be read: ${read.reason}`);
  return { file, text: read.text };
}

/** The policies of the files. Warnings are logged; any problem throws `POLICY_INVALID` after all were told. */
export function requireValid<Written>(
  files: PolicyFilesOf<Written>,
  logger: Logger,
  consequence: string,
): readonly Written[] {
  if (!files.valid) throw reportedProblems(files.problems, logger, consequence);
  for (const warning of files.warnings) logger.warn(problemText(warning));
  return files.policies;
}

/** Tells every problem; the error is what to throw then. */
export function reportedProblems(
  problems: readonly Problem[],
  logger: Logger,
  consequence: string,
): FleetGcError {
  for (const problem of problems) {
    const text = problemText(problem);
    logger.error(problem.lines === undefined ? {} : { lines: [text, ...problem.lines] }, text);
  }
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
  return new FleetGcError('POLICY_INVALID', `${count}; ${consequence}`);
}

/** The policy of `cluster run` without a policy file. */
const DEFAULT_POLICY = `kind: ClusterPolicy
name: default
mode: enforce
collectors: [${Collector.options.join(', ')}]
`;

/** The policy that holds. Throws `POLICY_INVALID`, `USAGE`, or `NOT_FOUND` where none selects the cluster. */
export function chosenClusterPolicy(
  { policy: paths = [], cluster }: ClusterPolicyChoice,
  logger: Logger,
): ClusterPolicyRecord {
  const files =
    paths.length === 0
      ? readClusterPolicyFiles([{ file: 'default policy', text: DEFAULT_POLICY }])
      : loadClusterPolicyFiles(paths);
  const records = requireValid(files, logger, 'nothing was done').map(toClusterPolicyRecord);
  const [only, ...more] = records;
  if (cluster === undefined) {
    if (only !== undefined && more.length === 0) return only;
    throw new FleetGcError('USAGE', severalOrNone(records));
  }
  const selection = selectPolicy(policySet('cluster', records, []), { cluster });
  if (selection.kind === 'policy') return selection.record;
  throw new FleetGcError('NOT_FOUND', `no policy of these files selects the cluster ${cluster}`);
}

const severalOrNone = (records: readonly ClusterPolicyRecord[]): string =>
  records.length === 0
    ? 'the files have no policy for clusters'
    : `the files have ${records.length} policies: name the cluster with --cluster, so that one can be chosen`;
