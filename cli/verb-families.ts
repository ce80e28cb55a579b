import type { VERB_GROUPS } from './verb-list.ts';

type VerbName = (typeof VERB_GROUPS)[number]['verbs'][number]['name'];
/** A word under which several verbs stand, e.g. `policy`. */
export type VerbFamily = VerbName extends infer Name
  ? Name extends `${infer Family} ${string}`
    ? Family
    : never
  : never;

export const VERB_FAMILIES: Readonly<Record<VerbFamily, string>> = {
  cluster: 'Collect the objects of Kubernetes clusters that nobody needs',
  topics: 'Create and check the topics, and who may use them',
  policy: 'Check, apply and look at policies',
  keys: 'Make, certify, revoke and list keys',
  doctor: 'Check what stands in the way, and say what to do',
  audit: 'Ask the event log what was decided and done, and why',
  notify: 'Tell people what happens, by a rule file',
  'dead-letters': 'Look at messages that could not be processed, and put them back',
};

export const isFamily = (word: string): word is VerbFamily => Object.hasOwn(VERB_FAMILIES, word);
