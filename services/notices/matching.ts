import { NOTICE_KIND_NAMES, type NoticeKind } from '../../schemas/notices/notice.ts';
import type { NoticeRule, NoticeRules } from '../../schemas/notices/notice-rules.ts';
import { globMatcher } from '../../schemas/policy/glob.ts';
import type { Notice } from './notice.ts';

/** Which notices a rule lets through. */
export interface MatchingRule {
  readonly name: string;
  readonly kinds: readonly NoticeKind[];
  readonly mostPerMinute: number;
  readonly matches: (notice: Notice) => boolean;
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
    matches: ({ kind, cluster, node }) => wanted.has(kind) && ofCluster(cluster) && ofNode(node),
  };
}

function anyOf(globs: readonly string[] | undefined): (name: string | null) => boolean {
  if (globs === undefined) return () => true;
  const matchers = globs.map(globMatcher);
  return (name) => name !== null && matchers.some((matches) => matches(name));
}

/** The first rule that wants it, so that a receiver hears of nothing twice. */
export const ruleFor = (rules: readonly MatchingRule[], notice: Notice): MatchingRule | undefined =>
  rules.find(({ matches }) => matches(notice));
