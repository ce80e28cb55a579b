import type { Policy } from '../../../schemas/policy/policy.ts';
import { parseDurationMs } from '../../../schemas/policy/quantity.ts';
import { evictionNotes } from './eviction-notes.ts';
import type { Problem } from './problem.ts';
import { problemAt, type YamlDocument } from './yaml-document.ts';

/** What is valid and yet may not do what its author thinks. */
export const notesOn = (policy: Policy, document: YamlDocument): readonly Problem[] => [
  ...zeroMinimumAge(document),
  ...evictionNotes(policy, document),
  ...policy.keep.patterns.flatMap((pattern, index) => patternWithoutRegistry(pattern, index, document)),
];

/** B3: a kubelet's configuration file cannot ask for zero either. */
function zeroMinimumAge(document: YamlDocument): readonly Problem[] {
  const path = ['imageMinimumGCAge'];
  const written = document.valueAt(path);
  if (typeof written !== 'string' || parseDurationMs(written) !== 0) return [];
  return [
    problemAt(
      document,
      path,
      'zero means the default, 2m, as it does to the kubelet; -1s means no minimum age',
    ),
  ];
}

/** A runtime lists `nginx` as `docker.io/library/nginx`, so the pattern `nginx*` would protect nothing. */
function patternWithoutRegistry(pattern: string, index: number, document: YamlDocument): readonly Problem[] {
  const [first = '', ...rest] = pattern.split('/');
  if (/[*?]/.test(first) && rest.length > 0) return [];
  if (pattern === '**' || first === 'localhost') return [];
  if (rest.length > 0 && /[.:]/.test(first)) return [];
  return [
    problemAt(
      document,
      ['keep', 'images', index],
      `${pattern} names no registry, but runtimes list images in full, as in docker.io/library/nginx:1.27`,
    ),
  ];
}
