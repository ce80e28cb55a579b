import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  BUNDLE_DIRECTORY,
  bundleName,
  type FrozenDecider,
  findDecider,
  loadBundle,
} from '../../../../packages/audit/deciders/deciders.ts';
import { sha256Hex } from '../../../../packages/canonical/ids.ts';
import { ClusterDecisionOutcome } from '../../../../schemas/events/cluster-decision.ts';
import { ClusterDeciderName } from '../../../../schemas/events/deciders.ts';
import { Decision } from '../../../../schemas/events/decision.ts';
import { diskStats } from '../../../fixtures/disk-stats.ts';
import { outputHash } from '../../../support/output-hash.ts';
import { runs } from '../../../support/property-runs.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { ARBITRARY_CASES } from './arbitrary-cases.ts';
import { bundleDecider } from './bundle.ts';
import {
  answerTo,
  answerToOvertaking,
  type CorpusCase,
  questionOf,
  readCorpus,
  readOvertaking,
} from './corpus.ts';
import { findingsOf } from './findings.ts';
import { readHashes, readOutputs } from './frozen-files.ts';
import { OVERTAKING_CASES } from './overtaking-cases.ts';
import { SOURCE_DECIDERS } from './source-deciders.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..', '..', '..');
const corpus = readCorpus();
const overtaking = readOvertaking();
const recordedOutputs = readOutputs();

async function found(name: string, version: string) {
  const decider = await findDecider(name, version);
  if (decider === null) throw new Error(`${name} ${version} is not frozen: npm run freeze`);
  return decider;
}

const caseOf = (topic: CorpusCase['topic'], index = 0): CorpusCase => {
  const recorded = corpus.filter((each) => each.topic === topic)[index];
  if (!recorded) throw new Error(`the corpus has no ${topic}`);
  return recorded;
};

describe.each(SOURCE_DECIDERS)('$name $version', (decider) => {
  const { name, version, topic } = decider;
  const advice =
    `the output of ${name} ${version} changed for an equal input. Give it a new version ` +
    `(DECIDER in packages/deciders/${name}/decide.ts), or, before its release, freeze it again: npm run freeze`;

  function expectSame(frozen: FrozenDecider, recorded: CorpusCase): void {
    const question = questionOf(recorded);
    expect(answerTo(question, decider), `${recorded.name}: ${advice}`).toBe(answerTo(question, frozen));
  }

  test('gives what its frozen bundle gives, for every case of the corpus', async () => {
    const frozen = await found(name, version);
    const cases = corpus.filter((recorded) => recorded.topic === topic);
    const overtaken = overtaking.filter((recorded) => recorded.topic === topic);
    for (const recorded of cases) expectSame(frozen, recorded);
    for (const recorded of overtaken)
      expect(answerToOvertaking(recorded, decider), `${recorded.name}: ${advice}`).toBe(
        answerToOvertaking(recorded, frozen),
      );
    expect(
      Object.keys(recordedOutputs[bundleName(name, version)] ?? {}),
      'a case was added: npm run freeze',
    ).toEqual([...cases, ...overtaken].map((recorded) => recorded.name));
  });

  test.each([...ARBITRARY_CASES[topic].entries()])('and for any other input (%i)', async (_index, inputs) => {
    const frozen = await found(name, version);
    fc.assert(
      fc.property(inputs, (unnamed) => expectSame(frozen, { name: 'any', ...unnamed })),
      runs(200),
    );
  });

  test('its record has the hash of all that it gives', async () => {
    const outputs = z
      .array(z.looseObject({}))
      .parse(JSON.parse(answerTo(questionOf(caseOf(topic)), decider)));
    expect(outputs[0]?.outputSha256).toBe(outputHash(outputs));
  });
});

function recordedAnswer(name: string, decider: FrozenDecider): string {
  const [recorded] = corpus.filter((each) => each.name === name);
  const [overtaken] = overtaking.filter((each) => each.name === name);
  if (recorded) return answerTo(questionOf(recorded), decider);
  if (overtaken) return answerToOvertaking(overtaken, decider);
  throw new Error(`${name} is gone from the corpus`);
}

test.each(Object.keys(readHashes()))('%s gives what was recorded of it', async (bundle) => {
  const split = bundle.lastIndexOf('-');
  const decider = await found(bundle.slice(0, split), bundle.slice(split + 1));
  const outputs = Object.entries(recordedOutputs[bundle] ?? {}).map(([name]) => {
    return [name, sha256Hex(recordedAnswer(name, decider))];
  });
  expect(outputs.length).toBeGreaterThan(0);
  expect(Object.fromEntries(outputs)).toEqual(recordedOutputs[bundle]);
});

test('deciders that are said to read alike do so', async () => {
  const all = await Promise.all(SOURCE_DECIDERS.map(({ name, version }) => found(name, version)));
  const groups = [...Map.groupBy(all, ({ reader }) => reader).values()];
  expect(groups.map((group) => group.map(({ name }) => name))).toContainEqual(['container-gc', 'image-gc']);
  for (const [one, ...others] of groups)
    for (const { read } of others)
      for (const { message } of corpus.filter(({ topic }) => topic === 'inventory').map(questionOf))
        expect(read(message)).toEqual(one?.read(message));
});

test('the corpus meets both sides of the rule of overtaking, on each topic', async () => {
  const answers = await Promise.all(
    SOURCE_DECIDERS.map(async ({ name, version, topic }) => {
      const decider = await found(name, version);
      const own = overtaking.filter((recorded) => recorded.topic === topic);
      const passed = own.filter((recorded) => answerToOvertaking(recorded, decider) !== 'null');
      return [name, passed.length, own.length - passed.length];
    }),
  );
  expect(answers).toEqual([
    ['pressure', 1, 4],
    ['container-gc', 7, 14],
    ['image-gc', 7, 14],
    ['graph-gc', 0, 0],
    ['pod-gc', 0, 0],
    ['expiry-gc', 0, 0],
  ]);
});

test('the corpus of overtaking is what its cases say', () => {
  expect(overtaking).toEqual(JSON.parse(JSON.stringify(OVERTAKING_CASES)));
});

/** Within their bounds no fact and no policy about clusters cost too much. */
const CLUSTER_OUTCOMES = ClusterDecisionOutcome.exclude(['too-costly']).options;

test('the corpus meets most rules, and every outcome', () => {
  const findings = new Set(corpus.flatMap((recorded) => [...findingsOf(recorded)]));
  const rules = new Set(
    [...findings].flatMap((finding) => / (?:keep|remove) \w+ (\w+)$/.exec(finding)?.[1] ?? []),
  );
  expect(rules.size).toBeGreaterThanOrEqual(40);
  // What is passed over is not decided on.
  for (const outcome of Decision.shape.outcome.exclude(['overtaken']).options)
    expect(
      [...findings].some((finding) => finding.endsWith(` ${outcome}`)),
      outcome,
    ).toBe(true);
});

test('the corpus meets all rules about owners, and every outcome', () => {
  const findings = [...new Set(corpus.flatMap((recorded) => [...findingsOf(recorded)]))];
  const ofOwners = findings.flatMap((finding) => finding.match(/^graph-gc (.*)/)?.[1] ?? []);
  const rules = ofOwners.flatMap((finding) => /^(?:\w|-)+ (\w\d+) /.exec(`${finding} `)?.[1] ?? []);
  expect([...new Set(rules)].toSorted()).toEqual(
    ['D10', 'D11', 'D12', 'D13', 'D14', 'D17', 'D3', 'D7', 'D9', 'E1', 'E3', 'H2', 'I10', 'P1', 'P2'].concat([
      'S1',
      'S2',
      'S3',
      'S4',
      'S5',
      'S6',
    ]),
  );
  for (const outcome of CLUSTER_OUTCOMES) expect(ofOwners).toContain(outcome);
});

test('the corpus meets all rules about pods, and every outcome', () => {
  const findings = [...new Set(corpus.flatMap((recorded) => [...findingsOf(recorded)]))];
  const ofPods = findings.flatMap((finding) => finding.match(/^pod-gc (.*)/)?.[1] ?? []);
  const rules = ofPods.flatMap((finding) => /^(?:\w|-)+ (\w\d+) /.exec(`${finding} `)?.[1] ?? []);
  expect([...new Set(rules)].toSorted()).toEqual([
    'J1',
    'J11',
    'J3',
    'J5',
    'J6',
    'J8',
    'J9',
    'P1',
    'P2',
    'S1',
    'S2',
    'S3',
    'S5',
  ]);
  for (const outcome of CLUSTER_OUTCOMES) expect(ofPods).toContain(outcome);
});

test('the corpus meets all rules about time, and every outcome', () => {
  const findings = [...new Set(corpus.flatMap((recorded) => [...findingsOf(recorded)]))];
  const ofTime = findings.flatMap((finding) => finding.match(/^expiry-gc (.*)/)?.[1] ?? []);
  const rules = ofTime.flatMap((finding) => /^(?:\w|-)+ (\w\d+) /.exec(`${finding} `)?.[1] ?? []);
  expect([...new Set(rules)].toSorted()).toEqual([
    'K1',
    'K4',
    'L1',
    'L2',
    'L3',
    'L4',
    'L5',
    'L6',
    'L7',
    'L9',
    'P1',
    'P2',
    'S11',
    'S12',
    'S13',
    'S2',
    'S5',
    'S8',
    'S9',
  ]);
  for (const outcome of CLUSTER_OUTCOMES) expect(ofTime).toContain(outcome);
});

test.each(ClusterDeciderName.options)(
  '[cluster S7] the corpus has something that goes by %s because it was approved',
  (name) => {
    const findings = corpus.flatMap((recorded) => [...findingsOf(recorded)]);
    const approved = findings.filter(
      (finding) => finding.startsWith(`${name} `) && / approvals\b/.test(finding),
    );
    expect(approved).not.toEqual([]);
  },
);

test('a bundle is the same each time, needs Node.js alone, and tells nothing of the machine', async () => {
  const [once, again] = await Promise.all([bundleDecider('pressure'), bundleDecider('pressure')]);
  expect(again).toBe(once);
  const imports = [...once.matchAll(/\b(?:from|import|require)\s*\(?\s*["'`]([^"'`]+)/g)].map(
    ([, module]) => module,
  );
  expect(new Set(imports)).toEqual(new Set(['node:crypto']));
  expect(once).not.toContain(process.cwd());
  expect(once).not.toContain('node_modules');
});

test.each(SOURCE_DECIDERS)(
  '$name-$version on the disk is what its sources give, wherever they lie: else run npm run freeze',
  async ({ name, version }) => {
    const bundle = bundleName(name, version);
    if (readHashes()[bundle]?.released) return;
    const elsewhere = temporaryDirectory();
    for (const folder of ['packages', 'schemas', 'services'])
      cpSync(join(REPOSITORY, folder), join(elsewhere, folder), { recursive: true });
    symlinkSync(join(REPOSITORY, 'node_modules'), join(elsewhere, 'node_modules'));
    // Compared by their hashes: nobody wants to read two bundles.
    const frozen = sha256Hex(readFileSync(new URL(`${bundle}.mjs`, BUNDLE_DIRECTORY), 'utf8'));
    expect(sha256Hex(await bundleDecider(name))).toBe(frozen);
    expect(sha256Hex(await bundleDecider(name, elsewhere))).toBe(frozen);
  },
);

test('a decider that was never frozen is not there', async () => {
  expect(await findDecider('image-gc', '0')).toBeNull();
  expect(await findDecider('../../deciders/image-gc', '1')).toBeNull();
});

describe('a bundle on the disk', () => {
  const code =
    'export const read = (message) => message; export const decide = () => []; export const passOver = () => null;';
  const load = (content: string | null) => {
    const directory = temporaryDirectory();
    if (content !== null) writeFileSync(join(directory, 'image-gc-9.mjs'), content);
    return loadBundle(
      { name: 'image-gc', version: '9', sha256: sha256Hex(code), reader: '' },
      pathToFileURL(`${directory}/`),
    );
  };

  test('runs when it is as it was frozen', async () => {
    expect(answerTo(questionOf(caseOf('inventory')), await load(code))).toBe('[]');
  });

  test.each([
    ['with one more byte', `${code} `],
    ['that is empty', ''],
    ['that is not there', null],
  ])('%s is refused before it runs', async (_name, content) => {
    await expect(load(content)).rejects.toMatchObject({
      code: 'DECIDER_CHANGED',
      message: expect.stringContaining('image-gc 9'),
    });
  });
});

test.each([
  ['what is no JSON', undefined],
  ['another type', { ...diskStats(), type: 'fleetgc.node.inventory' }],
  ['a version that it does not know', { ...diskStats(), version: 2 }],
  ['a field of another type', { ...diskStats(), takenAt: 'now' }],
])('%s is not decided on', async (_name, message) => {
  const { read } = await found('pressure', '1');
  expect(() => read(message)).toThrow(expect.objectContaining({ code: 'EVENT_REJECTED' }));
});
