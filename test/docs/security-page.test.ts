import { expect, test } from 'vitest';
import { VERB_GROUPS } from '../../cli/verbs.ts';
import { ROLES, type Role, rightsOf } from '../../packages/log/access/access-rules.ts';
import { TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import { NOTICE_KIND_NAMES } from '../../schemas/notices/notice.ts';
import { textOf } from '../deploy/files.ts';
import { tableRows } from './markdown.ts';

const ROWS = tableRows(textOf('SECURITY.md'), 'What asks you to act');
const spansIn = (cell: string): readonly string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);
const placesOf = (cell: string): readonly string[] => (cell.includes('`') ? spansIn(cell) : [cell]);

test('what asks people to act is a verb or a notice that there is', () => {
  const verbs: readonly string[] = VERB_GROUPS.flatMap((group) => group.verbs.map(({ name }) => name));
  const known = new Set([...verbs, ...verbs.map((name) => name.split(' ').at(-1)), ...NOTICE_KIND_NAMES]);
  const unknown = ROWS.flatMap(([what = '']) => placesOf(what)).filter(
    (name) => !known.has(name) && !name.startsWith('the dashboard'),
  );
  expect(unknown).toEqual([]);
});

const OWN_FACTS = ['clusterOwnership', 'clusterPods', 'clusterExpiry'] as const satisfies readonly TopicId[];

/** Where the word lies, by the words of the table. */
const TOPICS_OF: Readonly<Record<string, readonly TopicId[]>> = {
  'its own fact, decided again': OWN_FACTS,
  'the same': OWN_FACTS,
  'the same, read again': OWN_FACTS,
  "its own fact, decided again by `notify`; or the executor's result": [...OWN_FACTS, 'clusterResults'],
  'decisions; they ask for no approval': ['decisions', 'clusterDecisions'],
  "the agent's census": ['clusterCensus'],
  '`gc.policies`; "by" and the reason are the writer\'s words': ['policies'],
  'the Kafka key of that record': ['policies'],
  'the letter': ['deadLetters'],
  'what the executor saved': ['clusterRemoved'],
  'facts of that node; they only ask you to look': ['diskStats', 'inventory', 'results'],
  'facts of that node, as the newest order to it repeats them': [
    'diskStats',
    'inventory',
    'observe',
    'commands',
  ],
};
/** What does not lie on the event log. */
const ELSEWHERE = new Set(['the API server', 'the file that you name: compare the id of the key']);

/** As the paragraphs of the operators' secret describe them: they may report for any node and cluster, too. */
const OF_OPERATORS = ['operator', 'dashboard', 'policy-controller'] as const satisfies readonly Role[];
const ROLES_OF: Readonly<Record<string, readonly Role[]>> = {
  '1': ['cluster'],
  "the deciders' secret": ['decider'],
  "the operators' secret": [],
  "the nodes' secret": ['node'],
  "the nodes' secret, the deciders' secret": ['node', 'decider'],
  '2': ['node', 'cluster', 'decider'],
};

test.each(ROWS)(
  'who can write it without a key is who the access rules let: %s',
  (_, word = '', who = '') => {
    if (ELSEWHERE.has(word)) return;
    const names = new Set((TOPICS_OF[word] ?? []).map((id): string => TOPICS[id].name));
    expect(names.size, `where lies "${word}"?`).toBeGreaterThan(0);
    const named = ROLES_OF[who.replace(/^\[(\d)\].*/, '$1')];
    expect(named, `who is "${who}"?`).toBeDefined();
    const writers = ROLES.filter((role) =>
      rightsOf(role).some(({ operation, resource }) => operation === 'Write' && names.has(resource.name)),
    );
    expect(writers.filter((role) => !OF_OPERATORS.some((each) => each === role))).toEqual(named);
  },
);
