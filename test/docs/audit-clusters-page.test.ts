import { expect, test } from 'vitest';
import { clusterEntryText } from '../../packages/documents/cluster-life.ts';
import {
  ClusterExplanation,
  ClusterObjectState,
  ClusterTimelineEntry,
} from '../../schemas/reports/cluster-explanation.ts';
import { textOf } from '../deploy/files.ts';
import { codeBlocks, tableRows } from './markdown.ts';

const page = textOf('docs/operating/audit-clusters.md');
const words = tableRows(page, 'word').flatMap(([cell = '']) => cell.replaceAll('`', '').split(', '));

const base = {
  loggedAtMs: 0,
  clusterTimeMs: null,
  record: { topic: 'gc.cluster.ownership', partition: 0, offset: '0' },
};
const repeated = { times: 1, last: { loggedAtMs: 0, clusterTimeMs: null } };

const candidates = ['first', 'changed', 'again'].map((how) => ({
  what: 'candidate',
  ...base,
  as: 'owned',
  how,
  isBeingDeleted: false,
  finalizers: [],
  keptBy: null,
  owners: [],
  facts: {},
}));
const verdicts = [
  ['keep', 'nothing-to-do'],
  ['hold', 'nothing-to-do'],
  ['delete', 'commanded'],
  ['delete', 'dry-run'],
  ['delete', 'not-ours'],
].map(([action, outcome]) => ({
  what: 'verdict',
  ...base,
  ...repeated,
  decider: 'graph-gc',
  decisionId: 'd',
  outcome,
  reason: '',
  policy: null,
  action,
  rule: 'D14',
  because: '',
  facts: {},
}));
const command = {
  what: 'command',
  ...base,
  commandId: 'c',
  action: 'delete',
  rule: 'D14',
  because: '',
  propagation: 'Background',
  ownRule: null,
  lifetimeMs: 1,
  answered: true,
};
const results = ['removed', 'accepted', 'patched', 'not-found', 'rehearsed', 'refused', 'failed'].map(
  (outcome) => ({
    what: 'result',
    ...base,
    commandId: 'c',
    wholeCommand: false,
    action: null,
    rule: null,
    outcome,
    reason: null,
    message: null,
    attempts: 0,
    requests: 0,
    owners: [],
    node: null,
  }),
);
const settled = ['gone', 'no-candidate'].map((how) => ({ what: 'settled', ...base, how, byFleetGc: false }));
const owner = { what: 'owner', ...base, ...repeated, state: 'gone', gone: null, dependents: 1 };

test('the page has each word of the table for people, and no other', () => {
  const told = [...candidates, owner, ...verdicts, command, ...results, ...settled]
    .map((entry) => ClusterTimelineEntry.parse(entry))
    .map((entry) => clusterEntryText(entry).word);
  expect([...words].toSorted()).toEqual([...new Set(told)].toSorted());
});

test('the page names each kind of entry, of answer and of state', () => {
  const names = [
    ...ClusterTimelineEntry.options.map(({ shape }) => shape.what.value),
    ...ClusterExplanation.options.map(({ shape }) => shape.status.value),
    ...ClusterObjectState.options,
  ];
  for (const name of names) expect(page).toContain(`\`${name}\``);
});

test('the words of the example are told', () => {
  const example = codeBlocks(page, 'text').find((block) => block.includes('audit explain')) ?? '';
  const used = [...example.matchAll(/^\S+Z {3}(\w+( go)?) /gm)].map(([, word]) => word);
  expect(used).toContain('removed');
  for (const word of used) expect(words).toContain(word);
});
