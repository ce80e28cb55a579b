import type { Problem } from './problem.ts';
import { problemAt, type YamlDocument } from './yaml-document.ts';

/** Of a kind that is written as its resource is called. */
export function lowerCase(
  kind: string,
  path: readonly (string | number)[],
  document: YamlDocument,
): readonly Problem[] {
  const name = kind.slice(kind.indexOf('/') + 1);
  return /^[a-z]/.test(name)
    ? [
        problemAt(
          document,
          path,
          `${kind} looks like the name of a resource: kinds are written as in Pod or apps/Deployment`,
        ),
      ]
    : [];
}
