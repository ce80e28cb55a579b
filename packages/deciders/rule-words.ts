import type { ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import type { ExpiryRule } from './expiry-gc/rules/conclude.ts';
import type { ClusterRule } from './graph-gc/rules/outcome.ts';
import type { PodRule } from './pod-gc/rules/conclude.ts';

interface Words {
  readonly done: string;
  readonly kept: string;
}

/** Why, in words; each number has its row in docs/reference/cluster-rules.md. */
const WORDS: Readonly<Record<ClusterRule | PodRule | ExpiryRule, string | Words>> = {
  D3: 'it is being deleted, and waits for others than its dependents',
  D7: 'it has no owners',
  D9: 'the kind of an owner is not served, or not for sure',
  D10: 'an owner is there',
  D11: 'some of its owners are gone',
  D12: 'it is in a ring of objects that wait for each other',
  D13: 'its owner waits for it, and it has dependents itself',
  D14: 'nobody owns it any more',
  D17: { done: 'no dependent blocks it any more', kept: 'it waits for dependents that block it' },
  E1: 'its owner goes without its dependents',
  E3: { done: 'no dependent names it any more', kept: 'it waits until no dependent names it any more' },
  H2: 'it has no namespace and names an owner that has one',
  I10: 'its owners are not known well enough',
  J1: 'nothing calls for it',
  J3: { done: 'more pods have ended than may stay', kept: 'no more pods have ended than may stay' },
  J5: 'its node is out of service',
  J6: 'its node has not been missing for long enough',
  J8: 'its node is gone',
  J9: 'it was deleted before it had a node',
  J11: 'finalizers alone hold it',
  K1: 'it has no TTL, is not finished, or is being deleted',
  K4: { done: 'its TTL is over', kept: 'its TTL is not over' },
  L1: 'nothing says that it is done',
  L2: 'it has its certificate, for more than an hour',
  L3: 'it was denied more than an hour ago',
  L4: 'it failed more than an hour ago',
  L5: 'nothing was said about it for a day',
  L6: 'its certificate has ended',
  L7: 'it was approved a day ago, and has no certificate',
  L9: { done: 'it is older than 15 minutes', kept: 'it is younger than 15 minutes' },
  S1: 'too much would go with it',
  S2: 'objects of this kind are held',
  S3: 'it is doubtful that its owner is gone on purpose',
  S4: 'what it names lies elsewhere',
  S5: 'it is kept by annotation or policy',
  S8: { done: 'its annotations say that it may go', kept: 'nothing says that it may go yet' },
  S9: 'no rule of a policy may delete it',
  S11: 'too much of its kind would go at once',
  S12: { done: 'it is as old as a rule says', kept: 'it is younger than a rule says' },
  S13: 'it does not say when its age began',
  S6: 'its owner went without its dependents',
  S16: 'an owner of that name lives with another uid, as after a restore from a backup',
};

const isRule = (rule: string): rule is keyof typeof WORDS => Object.hasOwn(WORDS, rule);

/** `facts`: of the verdict, where they are known. */
export function ruleWords({
  rule,
  action,
  facts,
}: Pick<ClusterVerdict, 'rule' | 'action'> & Partial<Pick<ClusterVerdict, 'facts'>>): string {
  if (!isRule(rule)) return `rule ${rule}`;
  if (facts?.namesakeUid !== undefined && rule !== 'S16' && action !== 'keep')
    return 'an owner of that name lives with another uid';
  const words = WORDS[rule];
  if (typeof words === 'string') return words;
  return action === 'keep' || action === 'hold' ? words.kept : words.done;
}
