import type { DecisionOutcome, Verdict } from '../../schemas/events/decision.ts';

/** Rules of removals in plain words (docs/reference/rules.md). */
const REMOVED_BECAUSE = {
  D11: 'unused, and least recently used',
  E3: 'unused for longer than the maximum age',
  G6: 'its pod is gone or has ended',
  G7: 'dead, and a newer one of its kind is kept',
  G8: 'more dead containers on the node than its share',
  G9: 'more dead containers on the node than allowed',
  G23: 'just died, and a newer dead one of its kind is kept',
  H2: 'an inactive sandbox that its pod does not need',
  I3: 'logs of a pod that is gone',
  I6: 'a link to a log that is gone',
  M27: 'dead for longer than the maximum age',
  M35: 'a link to a log that is gone, of no container that the node knows',
} as const;
export type RemovedRule = keyof typeof REMOVED_BECAUSE;

/** Rules of keeping in plain words. */
const KEPT_BECAUSE = {
  A1: 'how full the disk is could not be read',
  A2: 'no image lies on the disk that is short of space',
  C5: 'its id, or that of another container of its pod and name, is listed more than once',
  C8: 'used by a container',
  C10: 'it is not known which images pods want',
  D1: 'removal by disk usage is switched off',
  D5: 'the disk says that it has no size',
  D6: 'the disk is not full enough',
  D7: 'pinned by the runtime',
  D9: 'used just now',
  D10: 'younger than the minimum age',
  D12: 'not needed to reach the target',
  E2: 'the agent has not run for the maximum age yet',
  E3: 'not unused for long enough',
  G3: 'running, or younger than the minimum age',
  G7: 'kept for looking at its logs',
  G20: 'its log path cannot be trusted',
  G22: 'goes with its container',
  H1: 'in use by its pod',
  H2: 'the newest sandbox of its pod',
  H7: 'its age is not believed',
  I1: 'the pod logs could not be read',
  I2: 'its name names no pod',
  I3: 'its pod is not gone',
  I6: 'its container may still write to it',
  J3: 'not all disks could be read',
  J5: 'nothing that this signal removes',
  J8: 'the disk does not count its inodes',
  J9: 'the policy has no threshold for this signal',
  J17: 'removing it would not help against this signal',
  K2: 'its pod still runs',
  M2: 'its age is not believed',
  M5: 'wanted by a pod',
  M9: 'needed for pod sandboxes',
  M11: 'kept by the policy',
  M12: 'not known to have been pulled by this node',
  M13: 'the policy removes no image to free inodes',
  M16: 'eviction thresholds remove nothing under this policy',
  M26: 'ended a moment ago, or nobody knows how long ago',
  M28: 'without it an init container could run again',
  M32: 'created a moment ago',
  M33: 'failed to go lately, waits for its next try',
  M35: 'nobody knows whose log it is',
  M37: 'the disk says what cannot be',
  M39: 'the policy has no absolute threshold',
  M41: 'not created by the kubelet',
  P1: 'no policy selects this node',
  P2: 'a pause is in force',
  P4: 'waits for the next round',
  P5: 'waits for the next round',
  P6: 'no room had to be made',
  P7: 'waits for the reclaim to end',
  P8: 'its id or name is too long for a command',
  P9: 'its names are too long or too many to check',
  P10: 'too costly to decide',
} as const;
export type KeptRule = keyof typeof KEPT_BECAUSE;

/** Why an object goes, in plain words. */
export const removedBecause = (rule: string): string => textIn(REMOVED_BECAUSE, rule);

/** Records of other releases may name any rule. */
const textIn = (texts: Readonly<Record<string, string>>, rule: string): string =>
  (Object.hasOwn(texts, rule) ? texts[rule] : undefined) ?? `rule ${rule}`;

type Kept = Pick<Verdict, 'rule' | 'facts'>;
type Facts = Verdict['facts'];

/** Why an object stays. P6 has two sides: nothing begins with images alone, and containers go before them. */
export function keptBecause(kept: Kept, outcome: DecisionOutcome): string {
  if (kept.rule === 'P6' && outcome === 'waits-for-containers') return 'containers go first';
  return keepListText(kept) ?? textIn(KEPT_BECAUSE, kept.rule);
}

/** What of a policy's `keep` keeps an object, by the fact that its verdict has of it (M11). */
const BY_FACT: Readonly<Record<string, (entry: Facts[string]) => string>> = {
  keptBy: (entry) => `kept by ${entry}`,
  // Said of an image of a pod that has neither container nor sandbox.
  keptNamespace: (namespace) =>
    namespace === 'unknown'
      ? 'used by a pod whose namespace is not known'
      : `in the kept namespace ${namespace}`,
  // Of containers, sandboxes and logs.
  namespace: (namespace) =>
    namespace === null || namespace === ''
      ? 'its namespace is not known'
      : `in the kept namespace ${namespace}`,
  keptVersionOf: (repository) => `one of the last versions of ${repository}`,
  unpullable: (why) => `cannot be pulled again: ${why}`,
};

/** `undefined` where the keep list says nothing of the object. */
function keepListText({ rule, facts }: Kept): string | undefined {
  if (rule !== 'M11') return undefined;
  const fact = Object.keys(BY_FACT).find((name) => Object.hasOwn(facts, name));
  return fact === undefined ? undefined : BY_FACT[fact]?.(facts[fact] ?? null);
}

/** A reason as it is counted: without the repository, of which a node has many. */
export const countedAs = (because: string, { facts }: Pick<Kept, 'facts'>): string =>
  facts.keptVersionOf === undefined ? because : 'one of the last versions of a repository';
