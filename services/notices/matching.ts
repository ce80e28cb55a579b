import { NOTICE_KIND_NAMES, type NoticeKind } from '../../schemas/notices/notice.ts';
import type { NoticeRule, NoticeRules } from '../../schemas/notices/notice-rules.ts';
import { GlobList } from '../../schemas/policy/glob.ts';
import { MAX_SELECTION_STEPS, Steps } from '../../schemas/policy/steps.ts';
import type { Notice } from './notice.ts';

/** Which notices a rule lets through. */
export interface MatchingRule {
  readonly name: string;
  readonly kinds: readonly NoticeKind[];
  readonly mostPerMinute: number;
  readonly matches: (notice: Notice, steps: Steps) => boolean;
}

/** The rules that lead to a receiver, in the order of the file. */
export const rulesTo = ({ rules }: NoticeRules, receiver: string): readonly MatchingRule[] =>
  rules.filter(({ to }) => to.includes(receiver)).map(matchingRule);

function matchingRule({
  name,
  kinds = NOTICE_KIND_NAMES,
  clusters,
  nodes,
  atMostPerMinute,
}: NoticeRule): MatchingRule {
  const wanted: ReadonlySet<NoticeKind> = new Set(kinds);
  const ofCluster = anyOf(clusters);
  const ofNode = anyOf(nodes);
  return {
    name,
    kinds,
    mostPerMinute: atMostPerMinute,
    matches: ({ kind, cluster, node }, steps) =>
      wanted.has(kind) && ofCluster(cluster, steps) && ofNode(node, steps),
  };
}

function anyOf(globs: readonly string[] | undefined): (name: string | null, steps: Steps) => boolean {
  if (globs === undefined) return () => true;
  const list = GlobList.of(globs);
  return (name, steps) => name !== null && list.matches(name, steps);
}

/**
 * The first rule that wants it, so that a receiver hears of nothing twice. A file whose rules could take more steps for all receivers
 * together is refused when it is read.
 */
export const ruleFor = (
  rules: readonly MatchingRule[],
  notice: Notice,
  steps = new Steps(MAX_SELECTION_STEPS),
): MatchingRule | undefined => rules.find(({ matches }) => matches(notice, steps));
