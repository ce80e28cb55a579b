import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answerBatch, splitLines } from '../../../packages/plan/answer.ts';
import { type Asked, defaultsOf, policyReader } from '../../../packages/plan/request.ts';
import { PlanLine } from '../../../schemas/reports/plan.ts';
import { image, incompleteInventory, inventory } from '../../fixtures/inventory.ts';
import { policySet } from '../../fixtures/policy.ts';
import { runs } from '../../support/property-runs.ts';

async function* chunksOf(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

async function linesOf(chunks: readonly Buffer[], mostBytes = 1_000): Promise<(string | null)[]> {
  const lines: (string | null)[] = [];
  for await (const some of splitLines(chunksOf(chunks), mostBytes))
    lines.push(...some.map((line) => line?.toString() ?? null));
  return lines;
}

describe('lines', () => {
  test('are the same however the text comes in', async () => {
    const text = fc
      .array(fc.constantFrom('a', 'ü', '\n', '\n\n'), { maxLength: 12 })
      .map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat(12), { maxLength: 4 }), async (whole, cuts) => {
        const bytes = Buffer.from(whole);
        const ends = [...cuts, bytes.length].toSorted((a, b) => a - b);
        const chunks = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
        expect(await linesOf(chunks)).toEqual(
          whole
            .replace(/\n$/, '')
            .split('\n')
            .slice(0, whole === '' ? 0 : undefined),
        );
      }),
      runs(200),
    );
  });

  test('that are too long are told, and nothing of them is kept', async () => {
    const chunks = ['abcd', 'e\nabcd\nab', 'cde'].map((text) => Buffer.from(text));
    expect(await linesOf(chunks, 4)).toEqual([null, 'abcd', null]);
  });
});

const asked: Asked = { policies: policySet(), trigger: 'periodic', override: {} };
const answer = (value: unknown, over: Partial<Asked> = {}) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const batch = { first: 7, lines: [Buffer.from(text)] };
  const { text: line, withoutPlan } = answerBatch(batch, defaultsOf({ ...asked, ...over }));
  expect(line.indexOf('\n')).toBe(line.length - 1);
  return { isPlanned: withoutPlan === 0, made: PlanLine.parse(JSON.parse(line)) };
};
const causesOf = (value: unknown): readonly string[] => {
  const { isPlanned, made } = answer(value);
  expect(isPlanned).toBe(false);
  if (made.type === 'fleetgc.plan') throw new Error('there is a plan');
  expect(made.error.line).toBe(7);
  return made.error.causes;
};

const node = inventory({ images: [image('a', { sizeBytes: 60 }), image('b', { sizeBytes: 60 })] });

describe('the answer to a line', () => {
  test('is a plan, of an inventory alone or of a question', () => {
    const alone = answer(node);
    expect(alone).toMatchObject({
      isPlanned: true,
      made: { trigger: 'periodic', policy: { name: 'default' } },
    });
    expect(answer({ inventory: node })).toEqual(alone);
  });

  test('is asked with its own policy, as one writes it, and its own trigger', () => {
    const question = {
      inventory: node,
      policy: { name: 'own', mode: 'enforce', profile: 'kubelet', imageMinimumGCAge: '1h30m' },
      trigger: 'forced',
    };
    expect(answer(question).made).toMatchObject({
      policy: { name: 'own', mode: 'enforce', profile: 'kubelet' },
      trigger: 'forced',
      remove: [{ id: 'a' }, { id: 'b' }],
    });
  });

  test('is that of the profile which is asked for, whatever the policy says', () => {
    const policy = { name: 'own', mode: 'enforce', profile: 'fleetgc' };
    const override = { profile: 'kubelet' } as const;
    expect(answer({ inventory: node, policy }, { override }).made).toMatchObject({
      policy: { profile: 'kubelet' },
    });
  });

  test('[P1] is that everything stays, where its own policy is for other nodes', () => {
    const policy = { name: 'own', mode: 'enforce', selector: { clusters: ['test'] } };
    expect(answer({ inventory: node, policy })).toMatchObject({
      isPlanned: true,
      made: { policy: null, remove: [] },
    });
  });

  test('[P3] is no plan, where the inventory is not complete', () => {
    expect(answer(incompleteInventory)).toMatchObject({ isPlanned: false, made: { status: 'not-planned' } });
  });

  test.each<{ line: unknown; causes: readonly unknown[] }>([
    { line: '{"inventory":', causes: ['the value is not JSON'] },
    { line: [], causes: [expect.stringMatching(/^must be an inventory event, or/)] },
    { line: {}, causes: ['inventory: the value has no type (text) and version (number)'] },
    {
      line: { ...node, version: 9 },
      causes: [
        'inventory: version 9 of fleetgc.node.inventory is not known; this release reads version 1: a newer one wrote it, so upgrade this one',
      ],
    },
    {
      line: { ...node, images: [{ id: 1 }] },
      causes: [
        expect.stringMatching(
          /^inventory: images\[0\]\.id: must be text, not 1; images\[0\]\.repoTags: is missing; .* and \d+ more$/,
        ),
      ],
    },
    {
      line: {
        inventory: { ...node, type: 'fleetgc.node.other' },
        policy: { name: 'A', mod: 'enforce' },
        trigger: 'now',
        more: 1,
      },
      causes: [
        expect.stringMatching(/^trigger: must be one of all, periodic, forced, eviction:/),
        expect.stringMatching(/^more: is no part of a request/),
        expect.stringMatching(/^inventory: fleetgc\.node\.other does not belong/),
        expect.stringMatching(/^policy\.name: must be 1 to 63/),
        expect.stringMatching(/^policy\.mode: is missing/),
        expect.stringMatching(/^policy\.mod: there is no such setting; did you mean mode\?/),
      ],
    },
    { line: { inventory: node, policy: null }, causes: [expect.stringMatching(/^policy: must be a map/)] },
    {
      line: `{"inventory":${JSON.stringify(node)},"policy":{"name":"a","mode":"enforce","selector":{"nodeLabels":{"__proto__":"x","a":"b"}}}}`,
      causes: ['policy: __proto__ is no name'],
    },
  ])('says what is wrong with $line', ({ line, causes }) => {
    const told = causesOf(line);
    expect(told).toHaveLength(causes.length);
    for (const cause of causes) expect(told).toContainEqual(cause);
  });

  test('to a blank line is none, and the lines after it keep their numbers', () => {
    const lines = ['', ' \t\r', '{', JSON.stringify(node)].map((line) => Buffer.from(line));
    const { text, answers, withoutPlan } = answerBatch({ first: 1, lines }, defaultsOf(asked));

    const [broken, plan, ...more] = text.split('\n');
    expect(broken).toContain('"line":3');
    expect(plan).toContain('"type":"fleetgc.plan"');
    expect(more).toEqual(['']);
    expect({ answers, withoutPlan }).toEqual({ answers: 2, withoutPlan: 1 });
  });

  test('says so of bytes that are no text, and of a line that is too long', () => {
    const lines = [Buffer.from([0xff]), null, Buffer.from(JSON.stringify(node))];
    const { text, withoutPlan } = answerBatch({ first: 1, lines }, defaultsOf(asked));

    const [noText, tooLong, plan] = text.split('\n');
    expect(noText).toMatch(/"line":1,"causes":\["the value is not UTF-8 text"\]/);
    expect(tooLong).toMatch(/"line":2,"causes":\["the line is longer than \d+ bytes"\]/);
    expect(plan).toContain('"type":"fleetgc.plan"');
    expect(withoutPlan).toBe(2);
  });
});

test('equal policies are read once, wrong ones too', () => {
  const read = policyReader({});
  const written = { name: 'own', mode: 'enforce' };
  expect(read(structuredClone(written))).toBe(read(written));
  expect(read({ ...written, mode: 'on' })).toBe(read({ ...written, mode: 'on' }));
  expect(read({ ...written, priority: 1 })).not.toEqual(read(written));
});
