import type { z } from 'zod';
import { POLICY_SETTINGS } from '../../schemas/policy-file.ts';
import { nearestName } from '../shared/nearest-name.ts';
import { type Problem, pathText } from './problem.ts';
import type { YamlDocument } from './yaml-document.ts';

type Issue = z.core.$ZodIssue;

/** What a kubelet knows and this release does not; a suggestion would lead to a setting that means something else. */
const NOT_AVAILABLE: ReadonlySet<string> = new Set([
  'imageMaximumGCAge',
  'evictionHard',
  'evictionSoft',
  'evictionSoftGracePeriod',
  'evictionMinimumReclaim',
  'evictionPressureTransitionPeriod',
]);

/** Every issue of a failed parse, as a sentence with its place in the document. */
export const schemaProblems = (error: z.ZodError, document: YamlDocument): readonly Problem[] =>
  error.issues.flatMap((issue) => issueProblems(issue, document));

function issueProblems(issue: Issue, document: YamlDocument): readonly Problem[] {
  if (issue.code !== 'unrecognized_keys') {
    return [{ ...document.placeOf(issue.path), path: pathText(issue.path), message: issue.message }];
  }
  return issue.keys.map((key) => ({
    ...document.placeOfKey(issue.path, key),
    path: pathText([...issue.path, key]),
    message: unknownSetting(pathText(issue.path), key),
  }));
}

function unknownSetting(section: string, key: string): string {
  if (section === '' && NOT_AVAILABLE.has(key)) return 'is not available in this release; remove it';
  const suggestion = nearestIn(section, key) ?? inAnotherSection(key);
  return suggestion === undefined
    ? 'there is no such setting'
    : `there is no such setting; did you mean ${suggestion}?`;
}

function nearestIn(section: string, key: string): string | undefined {
  const name = nearestName(key, POLICY_SETTINGS[section] ?? []);
  return name === undefined || section === '' ? name : `${section}.${name}`;
}

function inAnotherSection(key: string): string | undefined {
  const section = Object.keys(POLICY_SETTINGS).find((name) => POLICY_SETTINGS[name]?.includes(key));
  if (section === undefined) return undefined;
  return section === '' ? `${key} of the policy itself, one level up` : `${section}.${key}`;
}
