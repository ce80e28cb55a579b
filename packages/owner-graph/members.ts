/**
 * A set of objects in the form that takes the least memory: most owners have a handful of dependents, for which a list is an eighth
 * of a `Set`; of thousands a list cannot be searched.
 */
export type Members<Member> = readonly Member[] | Set<Member>;

const MOST_IN_LIST = 16;

/** The set with this member; it may be the same object, changed. */
export function withMember<Member>(members: Members<Member> | undefined, member: Member): Members<Member> {
  if (members === undefined) return [member];
  if (members instanceof Set) return members.add(member);
  if (members.includes(member)) return members;
  return members.length < MOST_IN_LIST ? [...members, member] : new Set([...members, member]);
}

/** The set without this member, `undefined` if nothing is left; it may be the same object, changed. */
export function withoutMember<Member>(
  members: Members<Member> | undefined,
  member: Member,
): Members<Member> | undefined {
  if (members === undefined) return undefined;
  if (members instanceof Set) {
    members.delete(member);
    return members.size > 0 ? members : undefined;
  }
  const left = members.filter((each) => each !== member);
  return left.length > 0 ? left : undefined;
}

export const countOf = (members: Members<unknown> | undefined): number =>
  members === undefined ? 0 : members instanceof Set ? members.size : members.length;

export const firstOf = <Member>(members: Members<Member> | undefined): Member | undefined =>
  members?.values().next().value;
