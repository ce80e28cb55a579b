import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide as decideContainers } from '../../../packages/deciders/container-gc/decide.ts';
import { planPass } from '../../../packages/deciders/container-gc/rules/plan.ts';
import { decide as decideImages } from '../../../packages/deciders/image-gc/decide.ts';
import { planImageCommand } from '../../../packages/deciders/image-gc/plan-images.ts';
import { gateFor } from '../../../packages/decision/gate.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { takeForObjects } from '../../../packages/decision/step-budget.ts';
import { planFor } from '../../../packages/plan/plan.ts';
import type { CompleteInventory, InventoryImage } from '../../../schemas/events/inventory.ts';
import { GlobList } from '../../../schemas/policy/glob.ts';
import { MAX_IMAGE_NAME_LENGTH, MAX_IMAGE_NAMES } from '../../../schemas/policy/image-pattern.ts';
import { selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import { MAX_DECISION_STEPS, MAX_SELECTION_STEPS, Steps } from '../../../schemas/policy/steps.ts';
import { imageRefusal } from '../../../services/node/executor/checks.ts';
import { NO_LOCAL_RULES } from '../../../services/node/executor/local-rules.ts';
import { imageRemoval } from '../../fixtures/command.ts';
import { container, image, inventory, NODE } from '../../fixtures/inventory.ts';
import { EVERY_NODE, keepList, policy, policyRecord } from '../../fixtures/policy.ts';
import { runs } from '../../support/property-runs.ts';

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const digest = (index: number): string => `sha256:${String(index).padStart(64, '0')}`;

/** Two thousand images, 350 containers, and 200 patterns of the kinds that people write. */
const LARGE_NODE = inventory({
  images: many(2_000, (index) => {
    const repository = `registry.example/team-${index % 40}/service-${index}`;
    return image(digest(index), {
      repoTags: [`${repository}:v1.${index}.3-0123abcd`],
      repoDigests: [`${repository}@${digest(index)}`],
    });
  }),
  containers: many(350, (index) => container(String(index).padStart(64, '0'))),
});
const USUAL_PATTERNS = many(
  50,
  (index) =>
    [
      `**/base-${index}/**`,
      `registry.example/team-${index}/*`,
      `*/pause-${index}:*`,
      `registry.example/**/app-${index}:v*-prod`,
    ] as const,
).flat();

test('[P10] an ordinary large node takes less than two thirds of the steps of a decision, with the last versions kept too', () => {
  const most = (): Steps => new Steps((2 * MAX_DECISION_STEPS) / 3);
  const settings = policy({ keep: keepList({ patterns: USUAL_PATTERNS, lastVersions: 3 }) });
  const steps = most();
  takeForObjects(LARGE_NODE, steps);
  expect(planImageCommand(LARGE_NODE, settings, 'usage', steps).eligibility.protected.length).toBeGreaterThan(
    0,
  );
  const pass = {
    inventory: LARGE_NODE,
    policy: settings,
    evictNonDeletedPods: false,
    waits: false,
    isForCommand: true,
  };
  expect(planPass(pass, most()).verdicts).toHaveLength(350);
});

/** After each character of such names another set of places in these patterns is where a name can be. */
const worstPatterns = (count: number): string[] =>
  many(count, (index) => `**a${'?'.repeat(1 + (index % 15))}b${index}`);
const lettersOf = (length: number, seed: number): string => {
  let state = seed + 1;
  return many(length, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state > 1_073_741_824 ? 'a' : 'b';
  }).join('');
};
const worstImages = (count: number, names: number): InventoryImage[] =>
  many(count, (index) =>
    image(digest(index), {
      repoTags: many(names, (name) => `${lettersOf(300, index * names + name)}:${name}`),
    }),
  );

describe('[P10] too costly means that all is kept, and says so:', () => {
  const given = inventory({ images: worstImages(500, 50) });
  const settings = policy({ mode: 'enforce', keep: keepList({ patterns: worstPatterns(500) }) });

  test('image-gc', () => {
    const decided = decideImages(given, settings);
    expect(decided).toMatchObject({ outcome: 'too-costly', items: [] });
    expect(decided.verdicts).toHaveLength(500);
    expect(decided.verdicts.every(({ action, rule }) => action === 'keep' && rule === 'P10')).toBe(true);
  });

  test('the same input ends the same way, whatever was decided before', () => {
    const first = decideImages(given, settings);
    decideImages(LARGE_NODE, settings);
    expect(decideImages(given, settings)).toEqual(first);
  });

  test('a plan', () => {
    const policies = policySet('node', [policyRecord(settings)], []);
    const plan = planFor({ inventory: given, policies, trigger: 'periodic' });
    expect(plan.remove).toEqual([]);
    expect(plan.keep.every(({ rule }) => rule === 'P10')).toBe(true);
  });

  test('container-gc, of symlinks that could each mean each container', () => {
    const decided = decideContainers(
      inventory({
        containers: many(5_000, (index) => container(`aaaaaaaa${index}`)),
        podLogDirectories: [],
        logSymlinks: many(5_000, (index) => ({
          name: `pod_space_main${index}-aaaaaaaa.log`,
          container: 'no-answer',
          backoff: null,
        })),
      }),
      policy({ mode: 'enforce' }),
    );
    expect(decided).toMatchObject({ outcome: 'too-costly', items: [] });
    expect(decided.verdicts.map(({ rule }) => rule)).toEqual(many(10_000, () => 'P10'));
  });
});

describe('[P9] an image is kept whose names no registry takes, and they are not looked at:', () => {
  test.each([
    { is: 'a longer tag', names: { repoTags: [`r.example/${'a'.repeat(MAX_IMAGE_NAME_LENGTH)}:1`] } },
    { is: 'a longer digest', names: { repoDigests: [`r.example/${'a/'.repeat(5_000_000)}@${digest(1)}`] } },
    { is: 'more names', names: { repoTags: many(MAX_IMAGE_NAMES, (index) => `r.example/app:${index}`) } },
  ])('$is', ({ names }) => {
    const odd = image('odd', names);
    const decided = decideImages(
      inventory({ images: [odd, image('other')] }),
      policy({ keep: keepList({ patterns: ['**/base-*/**', '**/x/**'], lastVersions: 1 }) }),
    );
    expect(decided.outcome).not.toBe('too-costly');
    expect(decided.verdicts[0]).toMatchObject({ action: 'keep', rule: 'P9' });
    const listed = { ...odd, sizeBytes: 1n };
    expect(
      imageRefusal(listed, imageRemoval(['odd']), {
        usage: {
          users: new Map(),
          containersWithoutImage: [],
          sandboxImageKnown: true,
          podImagesKnown: true,
        },
        history: { kind: 'known', file: null },
        local: NO_LOCAL_RULES,
        keep: keepList({ patterns: ['never'] }),
      }),
    ).toMatchObject({ reason: 'kept-by-policy' });
  });
});

describe('whose policy it is', () => {
  const nodeNames = worstPatterns(200);
  const node = lettersOf(253, 1);

  test('[P10] policies for another cluster cost a decision next to nothing', () => {
    const foreign = many(200, (index) =>
      policyRecord({
        name: `other-${index}`,
        priority: 9,
        selector: { ...EVERY_NODE, clusters: ['other'], nodeNames },
      }),
    );
    const set = policySet('node', [...foreign, policyRecord()], []);
    expect(selectPolicy(set, { ...NODE, node, nodeLabels: {} })).toMatchObject({
      kind: 'policy',
    });
  });

  test('[P10] a set that takes too long to find out who is meant keeps everything, and the record says why', () => {
    const all = many(200, (index) =>
      policyRecord({
        name: `p-${index}`,
        selector: { ...EVERY_NODE, nodeNames: nodeNames.map((one) => `${one}${index}`) },
      }),
    );
    const set = policySet('node', all, []);
    const subject = { ...NODE, node, nodeLabels: {} };
    const closed = { kind: 'closed', rule: 'P10', outcome: 'too-costly' };
    // Names that were held against the patterns before are not held against them again, and count the same.
    expect([gateFor(set, subject), gateFor(set, subject)]).toMatchObject([closed, closed]);
  });
});

const anyPattern = fc.stringMatching(/^(?:[ab]|\/|\*|\*\*|\*\*\/|\?|aaaa|abab){1,12}$/);
const anyName = fc.stringMatching(/^(?:a|b|\/|:|aaaa|abab|a\/b){1,60}$/);

test('[P10] whatever patterns and names there are, an image decision ends within its steps', () => {
  fc.assert(
    fc.property(
      fc.array(anyPattern, { minLength: 1, maxLength: 60 }),
      fc.array(anyName, { minLength: 1, maxLength: 60 }),
      (patterns, names) => {
        const given: CompleteInventory = inventory({
          images: many(200, (index) =>
            image(digest(index), { repoTags: names.map((name) => `${name}${index}`) }),
          ),
        });
        const { outcome, items } = decideImages(
          given,
          policy({ mode: 'enforce', keep: keepList({ patterns }) }),
        );
        if (outcome === 'too-costly') expect(items).toEqual([]);
      },
    ),
    runs(20),
  );
});

test('a list matches what each of its patterns does by itself', () => {
  fc.assert(
    fc.property(
      fc.array(anyPattern, { maxLength: 12 }),
      fc.array(anyName, { maxLength: 12 }),
      (patterns, names) => {
        const steps = new Steps(MAX_SELECTION_STEPS);
        for (const name of names)
          expect(GlobList.of([...patterns]).matches(name, steps)).toBe(
            patterns.some((pattern) => GlobList.of([pattern]).matches(name, steps)),
          );
      },
    ),
    runs(200),
  );
});
