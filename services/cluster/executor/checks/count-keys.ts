/*
 * What removals are counted for. Each has a word of its own before it: the uid of an owner is what somebody wrote into a reference, and
 * may look like anything.
 */

export const ownerKey = (uid: string): string => `owner ${uid}`;

/** Counted beside the owners of that kind. */
export const kindKey = (kind: string): string => `kind ${kind}`;

/** Counted by themselves: what else goes with missing nodes is no pod, and waits for an approval of its own. */
export const PODS_OF_MISSING_NODES = 'pods of missing nodes';

/** Of what goes by a rule of a policy. */
export const ruleKey = (name: string): string => `rule ${name}`;
