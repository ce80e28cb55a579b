import type { DecisionOutcome } from '../../../schemas/decision.ts';

/** Rules of removals in plain words (docs/rules.md). */
const REMOVED_BECAUSE: Readonly<Record<string, string>> = {
  D11: 'unused, and least recently used',
  G6: 'its pod is gone',
  G7: 'dead, and a newer one of its kind is kept',
  G8: 'more dead containers on the node than its share',
  G9: 'more dead containers on the node than allowed',
  G23: 'just died, and a newer dead one of its kind is kept',
  H2: 'an inactive sandbox that its pod does not need',
};

/** Rules of keeping in plain words. */
const KEPT_BECAUSE: Readonly<Record<string, string>> = {
  C8: 'used by a container',
  D7: 'pinned by the runtime',
  D9: 'used just now',
  D10: 'younger than the minimum age',
  D12: 'not needed to reach the target',
  G3: 'running, or younger than the minimum age',
  G7: 'kept for looking at its logs',
  H1: 'in use by its pod',
  H2: 'the newest sandbox of its pod',
  M5: 'wanted by a pod',
  M9: 'needed for pod sandboxes',
  M11: 'on the keep list, or cannot be pulled again',
  M26: 'ended a moment ago',
  M32: 'created a moment ago',
  M33: 'failed to go lately, waits for its next try',
  M41: 'not created by the kubelet',
  P4: 'waits for the next round',
  P5: 'waits for the next round',
  P6: 'no room had to be made',
  P7: 'waits for the reclaim to end',
};

export const removedBecause = (rule: string): string => REMOVED_BECAUSE[rule] ?? `rule ${rule}`;
/** P6 has two sides: nothing begins with images alone, and containers go before them. */
export const keptBecause = (rule: string, outcome: DecisionOutcome): string =>
  rule === 'P6' && outcome === 'waits-for-containers'
    ? 'containers go first'
    : (KEPT_BECAUSE[rule] ?? `rule ${rule}`);
