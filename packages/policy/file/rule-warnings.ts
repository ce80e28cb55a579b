import {
  FORBIDDEN_GROUPS,
  FORBIDDEN_KINDS,
  FORBIDDEN_NAMESPACES,
} from '../../../schemas/policy/cluster-policy-defaults.ts';
import { endStatesOf, type OwnRule } from '../../../schemas/policy/own-rule.ts';
import { durationText } from '../../../schemas/policy/value-text.ts';
import { doubtfulKind } from './doubtful-kind.ts';
import type { Problem } from './problem.ts';
import { problemAt, type YamlDocument } from './yaml-document.ts';

type Path = readonly (string | number)[];

/** What of a rule is valid and yet may not do what its author thinks. `path`: where the rule stands. */
export const ruleWarnings = (rule: OwnRule, path: Path, document: YamlDocument): readonly Problem[] => [
  ...rule.kinds.flatMap((kind, index) => {
    const at = [...path, 'kinds', index];
    return [
      ...doubtfulKind(kind, at, document),
      ...forbidden(kind, at, document),
      ...running(kind, rule, at, document),
    ];
  }),
  ...rule.namespaces
    .map((namespace, index) => ({ namespace, at: [...path, 'namespaces', index] }))
    .filter(({ namespace }) => FORBIDDEN_NAMESPACES.test(namespace))
    .map(({ namespace, at }) => problemAt(document, at, `no rule deletes anything in ${namespace}`)),
];

function forbidden(kind: string, at: Path, document: YamlDocument): readonly Problem[] {
  const group = kind.slice(0, Math.max(0, kind.indexOf('/')));
  return FORBIDDEN_KINDS.includes(kind) || FORBIDDEN_GROUPS.includes(group)
    ? [problemAt(document, at, `no rule deletes any ${kind}`)]
    : [];
}

function running(
  kind: string,
  { states, afterMs }: OwnRule,
  at: Path,
  document: YamlDocument,
): readonly Problem[] {
  return afterMs === undefined || states !== undefined || endStatesOf(kind).length === 0
    ? []
    : [
        problemAt(
          document,
          at,
          `takes each ${kind} that is older than ${durationText(afterMs)}, whether it has ended or not; with states it takes those that ended`,
        ),
      ];
}
