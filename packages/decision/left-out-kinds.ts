import { kindName } from '../../schemas/events/cluster-objects.ts';

/**
 * Who may delete what limits others, or read what lets in others, is more than a collector: of these kinds the printed role has no right
 * unless it is asked for by name. RBAC knows no right to metadata alone: to list Secrets is to read them.
 */
const LEFT_OUT_GROUPS: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io',
  'apiregistration.k8s.io',
  'rbac.authorization.k8s.io',
]);
const LEFT_OUT_KINDS: ReadonlySet<string> = new Set(['Secret']);

interface NamedKind {
  readonly group: string;
  readonly kind: string;
}

export const isLeftOut = (kind: NamedKind): boolean =>
  LEFT_OUT_GROUPS.has(kind.group) || LEFT_OUT_KINDS.has(kindName(kind));

/** Both as the API server answers where the account has no right. */
const REFUSED = /\b403\b|\bforbidden\b/i;

interface Unread extends NamedKind {
  readonly reason: string;
}

/**
 * Whether a kind is not read by choice: the printed role leaves it out, and the API server refuses it. Where another reason keeps such a
 * kind from being read, the account has the right to it, so it is expected to be read.
 */
const isUnreadByChoice = (unread: Unread): boolean => isLeftOut(unread) && REFUSED.test(unread.reason);

/** What was expected to be read and is not, and what the role leaves out. */
export function splitUnread<Kind extends Unread>(
  unread: readonly Kind[],
): { readonly expected: readonly Kind[]; readonly byChoice: readonly Kind[] } {
  return {
    expected: unread.filter((each) => !isUnreadByChoice(each)),
    byChoice: unread.filter(isUnreadByChoice),
  };
}

/** As `kindName` writes them; those that are asked for aside. */
export const leftOutOf = (
  kinds: readonly NamedKind[],
  askedFor: ReadonlySet<string> = new Set(),
): ReadonlySet<string> =>
  new Set(
    kinds
      .filter(isLeftOut)
      .map(kindName)
      .filter((name) => !askedFor.has(name)),
  );
