import { describe, expect, test } from 'vitest';
import { readAnyPolicyFiles } from '../../packages/policy/file/read-policy-file.ts';
import { MAX_POLICY_NAMES } from '../../schemas/policy/cluster-policy.ts';
import {
  GlobList,
  MAX_GLOB_CHARACTERS,
  MAX_GLOB_LENGTH,
  MAX_GLOB_WILDCARDS,
  MAX_GLOBS,
  MAX_WEIGHT_OF_IMAGE_GLOBS,
  MAX_WEIGHT_OF_NODE_GLOBS,
  weightOfGlobs,
} from '../../schemas/policy/glob.ts';
import { PolicyTopicRecord } from '../../schemas/policy/policy.ts';
import { selectPolicy } from '../../schemas/policy/policy-selection.ts';
import { MAX_SELECTION_STEPS, Steps } from '../../schemas/policy/steps.ts';
import { loadFunction } from '../../services/deciders/functions/decision-function.ts';
import { parseLocalRules } from '../../services/node/executor/local-rules.ts';
import { rulesIn } from '../../services/notices/rules-file.ts';
import { appliedPolicy } from '../fixtures/applied-policy.ts';
import { NODE } from '../fixtures/inventory.ts';
import { EVERY_NODE, keepList, pauseRecord, policyRecord } from '../fixtures/policy.ts';
import { SIGNED_AT_MS } from '../fixtures/trust.ts';
import { ControlledCluster } from '../services/cluster/policy-controller/support/controlled-cluster.ts';
import { GuardedLog } from '../services/cluster/policy-controller/support/guarded-log.ts';
import { unsignedDocument } from '../services/deciders/functions/support/function-events.ts';
import { openTestFunction, ScriptedSource } from '../services/deciders/functions/support/open-function.ts';

const imageGc = await loadFunction('image-gc');

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** The policy of the report: 44 kB of patterns, each with as many wildcards as one may have. */
const HOSTILE = many(MAX_GLOBS, (index) => `${'*a'.repeat(MAX_GLOB_WILDCARDS - 1)}*${index}`);
/** Two lists of them are more than all patterns of a policy may have. */
const LONG = many(200, (index) => `${'a'.repeat(MAX_GLOB_LENGTH - 10)}${index}`);
/** As many as a list may have, as people write them. */
const USUAL = many(MAX_GLOBS, (index) => `registry.example/team-${index}/*`);

const written = (settings: object) =>
  readAnyPolicyFiles([{ file: 'p.yaml', text: JSON.stringify({ name: 'p', mode: 'dry-run', ...settings }) }]);
const TOGETHER = `at most ${MAX_GLOB_CHARACTERS} characters together`;
const problemsOf = (settings: object): string => JSON.stringify(written(settings));
const onLog = (record: unknown): boolean => PolicyTopicRecord.safeParse(record).success;

describe('patterns that cost too much are refused at every door:', () => {
  test('a policy file', () => {
    expect(problemsOf({ keep: { images: HOSTILE } })).toContain('cost too much');
    expect(problemsOf({ selector: { nodeNames: HOSTILE.slice(0, 200) } })).toContain('cost too much');
    expect(
      problemsOf({
        keep: { images: USUAL },
        selector: { nodeNames: many(900, (index) => `node-${index}-*`) },
      }),
    ).not.toContain('cost too much');
  });

  test('a policy file, for all patterns together', () => {
    expect(problemsOf({ keep: { images: LONG } })).not.toContain('together');
    expect(problemsOf({ keep: { images: LONG }, selector: { nodeNames: LONG } })).toContain(TOGETHER);
  });

  test('the event log, with policies and pauses', () => {
    expect(onLog(policyRecord({ keep: keepList({ patterns: USUAL }) }))).toBe(true);
    expect(onLog(policyRecord({ keep: keepList({ patterns: HOSTILE }) }))).toBe(false);
    expect(onLog(policyRecord({ selector: { ...EVERY_NODE, nodeNames: HOSTILE.slice(0, 200) } }))).toBe(
      false,
    );
    expect(onLog(pauseRecord({ selector: { ...EVERY_NODE, nodeNames: HOSTILE.slice(0, 200) } }))).toBe(false);
    expect(onLog(policyRecord({ keep: keepList({ namespaces: many(1_001, (index) => `n${index}`) }) }))).toBe(
      false,
    );
    expect(
      onLog(
        policyRecord({
          keep: keepList({ labels: Object.fromEntries(many(1_001, (index) => [`l${index}`, ''])) }),
        }),
      ),
    ).toBe(false);
  });

  test('the event log, with all patterns of a policy together', () => {
    const selector = { ...EVERY_NODE, nodeNames: LONG };
    const keep = keepList({ patterns: LONG });
    expect(onLog(policyRecord({ keep }))).toBe(true);
    expect(onLog(policyRecord({ selector }))).toBe(true);
    expect(onLog(policyRecord({ selector, keep }))).toBe(false);
  });

  test.each<{ what: string; spec: object; problem: string }>([
    { what: 'keep.images', spec: { keep: { images: HOSTILE } }, problem: 'cost too much' },
    {
      what: 'selector.nodeNames',
      spec: { selector: { nodeNames: HOSTILE.slice(0, 200) } },
      problem: 'cost too much',
    },
    {
      what: 'all patterns together',
      // What a spec may have in characters is less than what two lists of the longest patterns have.
      spec: { keep: { images: LONG.slice(0, 190) }, selector: { nodeNames: LONG.slice(0, 190) } },
      problem: TOGETHER,
    },
  ])('an object of Kubernetes, by $what, which then changes nothing', async ({ spec, problem }) => {
    const guarded = await GuardedLog.open();
    const controlled = await ControlledCluster.begin('a', guarded);
    controlled.write('usual', { mode: 'dry-run', keep: { images: USUAL } });
    controlled.write('costly', { mode: 'dry-run', ...spec });
    expect(await controlled.pass()).toMatchObject({ applied: 1, notReady: 1 });
    expect(controlled.conditions('costly')).toEqual(['Accepted=False Invalid', 'Ready=False Invalid']);
    expect(controlled.status('costly').problems?.join('\n')).toContain(problem);
    const { policies, unreadable } = await guarded.stored();
    expect([...policies.keys()]).toEqual(['a..usual']);
    expect(unreadable).toEqual([]);
  });

  test.each<{ what: string; over: Parameters<typeof appliedPolicy>[0]; problem: string; outcome: string }>([
    {
      what: 'keep.images',
      over: { keep: keepList({ patterns: HOSTILE }) },
      problem: 'cost too much',
      outcome: 'paused',
    },
    {
      what: 'selector.nodeNames',
      over: { selector: { ...EVERY_NODE, nodeNames: HOSTILE.slice(0, 200) } },
      problem: 'cost too much',
      // For which nodes it would be, nobody can tell.
      outcome: 'unreadable',
    },
    {
      what: 'all patterns together',
      over: {
        keep: keepList({ patterns: LONG }),
        selector: { ...EVERY_NODE, nodeNames: [...LONG, NODE.node] },
      },
      problem: TOGETHER,
      outcome: 'paused',
    },
  ])(
    'the document that functions read, by $what, which then keep everything',
    async ({ over, problem, outcome }) => {
      const usual = appliedPolicy({ keep: keepList({ patterns: USUAL }) });
      const opened = async (...policies: readonly ReturnType<typeof appliedPolicy>[]) => {
        const source = new ScriptedSource(unsignedDocument(policies, SIGNED_AT_MS));
        const { open } = await openTestFunction(imageGc, { source, now: () => SIGNED_AT_MS });
        return open.policies;
      };
      const chosen = (policies: Awaited<ReturnType<typeof opened>>) =>
        policies.problem() === null
          ? selectPolicy(policies.current.node(), { ...NODE, nodeLabels: {} }).kind
          : 'unreadable';
      expect(chosen(await opened(usual))).toBe('policy');
      const costly = await opened(usual, appliedPolicy({ name: 'costly', ...over }));
      expect(chosen(costly)).toBe(outcome);
      const told = costly.problem() ?? costly.notice();
      expect(told).toContain('costly');
      expect(told).toContain(problem);
    },
  );

  test('the rules of notices', () => {
    const rules = (nodes: readonly string[]) =>
      rulesIn(
        JSON.stringify({
          receivers: [{ name: 'r', type: 'webhook', url: 'https://r.example/' }],
          rules: [{ name: 'n', nodes, to: ['r'] }],
        }),
      );
    expect(JSON.stringify(rules(HOSTILE.slice(0, 200)))).toContain('cost too much');
    expect(JSON.stringify(rules(['web-*']))).not.toContain('cost too much');
  });

  test("a node's own file, which then holds everything", () => {
    expect(parseLocalRules('node.yaml', JSON.stringify({ keepPatterns: HOSTILE }))).toMatchObject({
      kind: 'held',
    });
    expect(parseLocalRules('node.yaml', JSON.stringify({ keepPatterns: USUAL }))).toMatchObject({
      kind: 'rules',
    });
  });

  test('a policy for clusters, for all its names together', () => {
    const kinds = (rule: number) => many(900, (index) => `g${rule}.example/Kind${index}`);
    const rules = many(Math.ceil(MAX_POLICY_NAMES / 900), (rule) => ({
      name: `r${rule}`,
      kinds: kinds(rule),
      namespaces: ['scratch'],
      after: '24h',
    }));
    expect(problemsOf({ kind: 'ClusterPolicy', rules })).toContain(
      `at most ${MAX_POLICY_NAMES} names together`,
    );
    expect(problemsOf({ kind: 'ClusterPolicy', rules: rules.slice(0, 2) })).not.toContain('names together');
  });
});

test('the heaviest list over nodes that is taken is read within the steps of a choice, whatever the name', () => {
  const heaviest: string[] = [];
  for (let index = 0; weightOfGlobs(heaviest) < MAX_WEIGHT_OF_NODE_GLOBS - 20; index += 1)
    heaviest.push(`*${'w'.repeat(index % 12)}`);
  const deep = many(8, (index) => `*${'w'.repeat(MAX_GLOB_LENGTH - 2 - index)}*`).slice(0, 7);
  for (const list of [heaviest, deep])
    for (const name of ['w'.repeat(253), 'wv'.repeat(126), 'v'.repeat(253)]) {
      expect(weightOfGlobs(list)).toBeLessThanOrEqual(MAX_WEIGHT_OF_NODE_GLOBS);
      expect(() => GlobList.of(list).matches(name, new Steps(MAX_SELECTION_STEPS))).not.toThrow();
    }
  expect(MAX_WEIGHT_OF_NODE_GLOBS).toBeLessThan(MAX_WEIGHT_OF_IMAGE_GLOBS);
});
