import { describe, expect, test } from 'vitest';
import { MAX_WEIGHT_OF_NODE_GLOBS } from '../../../schemas/policy/glob.ts';
import { MAX_SELECTION_STEPS, Steps } from '../../../schemas/policy/steps.ts';
import { ruleFor, rulesTo } from '../../../services/notices/notices.ts';
import { requireRules, rulesIn } from '../../../services/notices/rules-file.ts';
import { noticeOf } from './support/notice-of.ts';

const WHOLE = `
receivers:
  - { name: pager, type: webhook, url: 'https://hooks.example/fleetgc', secretFile: /etc/secret }
  - { name: chat, type: slack, urlFile: /etc/slack, maxAge: 10m }
  - { name: events, type: kubernetes, cluster: prod, kubeconfig: in-cluster }
rules:
  - { name: urgent, kinds: [unrelieved, silent], to: [pager, chat], atMostPerMinute: 5 }
  - { name: prod, clusters: ['prod*'], nodes: ['web-*'], to: [chat, events] }
`;
const problems = (text: string): readonly string[] => {
  const file = rulesIn(text);
  return file.ok ? [] : file.problems;
};
const rules = () => {
  const file = rulesIn(WHOLE);
  if (!file.ok) throw new Error(file.problems.join());
  return file.rules;
};

test('a rule file is read, YAML or JSON, with its defaults', () => {
  expect(rules()).toMatchObject({
    receivers: [{ maxAge: 3_600_000 }, { maxAge: 600_000 }, { cluster: 'prod' }],
    rules: [{ atMostPerMinute: 5 }, { atMostPerMinute: 20 }],
  });
  const json = JSON.stringify({
    receivers: [{ name: 'a', type: 'slack', urlFile: 'f' }],
    rules: [{ name: 'all', to: ['a'] }],
  });
  expect(problems(json)).toEqual([]);
});

test.each([
  ['', ['receivers: must be a list, as in [a, b]', 'rules: must be a list, as in [a, b]']],
  ['a: [', ['it is no valid YAML; look at quotes, brackets and indentation (line 1)']],
  [
    WHOLE.replace('to: [pager, chat]', 'to: [nobody]'),
    ['rule urgent: there is no receiver nobody', 'receiver pager: no rule leads to it'],
  ],
  [
    WHOLE.replace('name: chat', 'name: pager'),
    [
      'receivers: two have the name pager',
      'rule urgent: there is no receiver chat',
      'rule prod: there is no receiver chat',
    ],
  ],
  [WHOLE.replace('name: prod,', 'name: urgent,'), ['rules: two have the name urgent']],
  [
    WHOLE.replace('to: [pager, chat]', 'to: [pager, chat, events]').replace(
      'kinds: [unrelieved, silent]',
      'kinds: [held]',
    ),
    ['rule urgent: none of its kinds becomes an Event, and events takes Events alone'],
  ],
  [
    WHOLE.replace("url: 'https://hooks.example/fleetgc'", 'url: a, urlFile: b'),
    ['receivers[0]: write url or urlFile, and not both'],
  ],
  [
    WHOLE.replace("url: 'https://hooks.example/fleetgc', ", ''),
    ['receivers[0]: write url or urlFile, and not both'],
  ],
  [WHOLE.replace('secretFile: /etc/secret', 'secret: abc'), ['receivers[0]: there is no setting secret']],
  [WHOLE.replace('maxAge: 10m', 'maxAge: 10s'), ['receivers[1].maxAge: must be from 1m to 24h']],
  [
    WHOLE.replace('atMostPerMinute: 5', 'atMostPerMinute: 0'),
    ['rules[0].atMostPerMinute: must be at least 1'],
  ],
  [
    WHOLE.replace('unrelieved,', 'everything,'),
    [expect.stringMatching(/^rules\[0\]\.kinds\[0\]: must be one of pressure, removed, /)],
  ],
])('what is wrong is told with its place (%#)', (text, expected) => {
  expect(problems(text)).toEqual(expected);
});

test('a file that is not there is told with its name', () => {
  expect(() => requireRules('/nowhere/notices.yaml')).toThrow(
    '/nowhere/notices.yaml: it cannot be read: there is no such file',
  );
});

describe('a notice goes', () => {
  const nameFor = (receiver: string, over: Parameters<typeof noticeOf>[1]) =>
    ruleFor(rulesTo(rules(), receiver), noticeOf(1, over))?.name;

  test('by the first rule that wants it, so that nobody hears of it twice', () => {
    expect(nameFor('chat', { kind: 'unrelieved' })).toBe('urgent');
    expect(nameFor('chat', { kind: 'removed' })).toBe('prod');
  });

  test('to nobody whom no rule leads to', () => {
    expect(nameFor('pager', { kind: 'removed' })).toBeUndefined();
    expect(nameFor('chat', { kind: 'removed', node: 'db-1' })).toBeUndefined();
    expect(nameFor('chat', { kind: 'removed', cluster: 'test' })).toBeUndefined();
  });

  test('by a rule about nodes only where it is about one', () => {
    expect(nameFor('chat', { kind: 'held', node: null })).toBeUndefined();
  });
});

describe('the patterns of a file', () => {
  const MOST_RULES = 100;
  const MOST_RECEIVERS = 16;
  const many = <T>(count: number, make: (index: number) => T): T[] =>
    Array.from({ length: count }, (_, index) => make(index));
  const fileOf = (of: {
    readonly rules: number;
    readonly receivers: number;
    readonly patterns: readonly string[];
    readonly clusters?: readonly string[];
  }): string => {
    const to = many(of.receivers, (index) => `r${index}`);
    return JSON.stringify({
      receivers: to.map((name) => ({ name, type: 'webhook', url: 'https://r.example/' })),
      rules: many(of.rules, (index) => ({
        name: `n${index}`,
        ...(of.clusters !== undefined && { clusters: of.clusters }),
        nodes: of.patterns,
        to,
      })),
    });
  };
  /** Its weight is 1 for the star and 1 for each character after it. */
  const ofWeight = (weight: number): string => `*${'w'.repeat(weight - 2)}`;
  const half = many(8, (index) => `${ofWeight(MAX_WEIGHT_OF_NODE_GLOBS / 16 - 1)}${index}`);
  const refused = [
    expect.stringMatching(/^rules: the patterns of all rules together cost too much: at most/),
  ];

  test.each([
    { what: 'two rules', rules: 2, receivers: 1, patterns: half },
    { what: 'two receivers', rules: 1, receivers: 2, patterns: half },
    { what: 'clusters and nodes', rules: 1, receivers: 1, patterns: half, clusters: half },
  ])('may cost so much together, and no more, for $what', (of) => {
    expect(problems(fileOf(of))).toEqual([]);
    expect(problems(fileOf({ ...of, patterns: [...half, 'x'] }))).toEqual(refused);
  });

  test('of the largest file with ordinary rules are taken', () => {
    const ordinary = { patterns: ['web-1'], clusters: ['prod'] };
    expect(problems(fileOf({ rules: MOST_RULES, receivers: MOST_RECEIVERS, ...ordinary }))).toEqual([]);
    expect(
      problems(fileOf({ rules: MOST_RULES, receivers: 1, patterns: many(5, (at) => `web-${at}-*-a`) })),
    ).toEqual([]);
  });

  test.each([
    {
      what: 'one rule',
      rules: 1,
      receivers: 1,
      patterns: [...half, ...half.map((each) => each.replace('*w', '*v'))],
    },
    {
      what: 'rules',
      rules: MOST_RULES,
      receivers: 1,
      patterns: many(8, (index) => `*www${index}`.slice(0, 4)),
    },
    { what: 'receivers', rules: MOST_RULES, receivers: MOST_RECEIVERS, patterns: ['*'] },
    {
      what: 'rules and lists',
      rules: MOST_RULES,
      receivers: MOST_RECEIVERS,
      patterns: ['y'],
      clusters: ['w'.repeat(253)],
    },
  ])('that are taken cost one notice no more than a choice may, for all receivers: $what', (of) => {
    const file = rulesIn(fileOf(of));
    if (!file.ok) throw new Error(file.problems.join());
    for (const name of ['w'.repeat(253), 'wv'.repeat(126), 'v'.repeat(253)]) {
      const steps = new Steps(MAX_SELECTION_STEPS);
      const told = noticeOf(1, { cluster: name, node: `${name.slice(1)}x` });
      for (const receiver of file.rules.receivers) ruleFor(rulesTo(file.rules, receiver.name), told, steps);
      expect(steps.taken).toBeLessThanOrEqual(MAX_SELECTION_STEPS);
    }
  });
});
