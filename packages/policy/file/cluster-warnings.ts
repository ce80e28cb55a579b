import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
import { HELD_KINDS } from '../../../schemas/policy/cluster-policy-defaults.ts';
import { doubtfulKind } from './doubtful-kind.ts';
import type { Problem } from './problem.ts';
import { ruleWarnings } from './rule-warnings.ts';
import { problemAt, type YamlDocument } from './yaml-document.ts';

/** What of a policy for clusters is valid and yet may not do what its author thinks. */
export const clusterWarningsOn = (policy: ClusterPolicy, document: YamlDocument): readonly Problem[] => [
  ...withoutCollectors(policy, document),
  ...droppedKinds(policy, document),
  ...policy.heldKinds.flatMap((kind, index) => doubtfulKind(kind, ['heldKinds', index], document)),
  ...policy.keep.kinds.flatMap((kind, index) => doubtfulKind(kind, ['keep', 'kinds', index], document)),
  ...undoWarnings(policy, document),
  ...(policy.rules ?? []).flatMap((rule, index) => ruleWarnings(rule, ['rules', index], document)),
];

const withoutCollectors = (
  { mode, collectors, rules }: ClusterPolicy,
  document: YamlDocument,
): readonly Problem[] =>
  mode === 'dry-run' || collectors.length > 0 || rules !== undefined
    ? []
    : [
        problemAt(
          document,
          ['mode'],
          `${mode} does nothing here: collectors names none, and there are no rules`,
        ),
      ];

function undoWarnings({ undo, undoExcept = [] }: ClusterPolicy, document: YamlDocument): readonly Problem[] {
  const doubts = undoExcept.flatMap((kind, index) => doubtfulKind(kind, ['undoExcept', index], document));
  return undo === undefined && undoExcept.length > 0
    ? [
        problemAt(document, ['undoExcept'], 'does nothing here: without undo: manifest nothing is saved'),
        ...doubts,
      ]
    : doubts;
}

function droppedKinds({ heldKinds }: ClusterPolicy, document: YamlDocument): readonly Problem[] {
  const dropped = HELD_KINDS.filter((kind) => !heldKinds.includes(kind));
  return dropped.length === 0
    ? []
    : [
        problemAt(
          document,
          ['heldKinds'],
          `${dropped.join(', ')} ${dropped.length === 1 ? 'is' : 'are'} not held now: the list replaces the default as a whole`,
        ),
      ];
}
