import { loadVerb, type Verb } from './framework/verb.ts';
import { ALL_VERBS } from './verb-list.ts';

/** The code of every verb. */
export const loadAllVerbs = (): Promise<readonly Verb[]> => Promise.all(ALL_VERBS.map(loadVerb));
