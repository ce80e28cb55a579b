/**
 * Writes a corpus: of many arbitrary messages, with fixed seeds, those few that together meet the most rules. For a decider that
 * has rules the corpus does not meet; other libraries or fixtures give other cases, so this is nothing for every day. Of the topics
 * that are named alone, if any are.
 */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import type { PauseRecord } from '../../../../schemas/policy/policy.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import { diskStats } from '../../../fixtures/disk-stats.ts';
import {
  image,
  incompleteInventory,
  inventory,
  NODE,
  tooLargeInventory,
} from '../../../fixtures/inventory.ts';
import { EVERY_NODE, keepList, pauseRecord, policy } from '../../../fixtures/policy.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { arbitraryContainerNode } from '../../deciders/container-gc/arbitrary.ts';
import { ARBITRARY_CASES, surrounded, type Unnamed } from './arbitrary-cases.ts';
import { CORPUS_DIRECTORY, CorpusCase, OVERTAKING_FILE } from './corpus.ts';
import { findingsOf } from './findings.ts';
import { OVERTAKING_CASES } from './overtaking-cases.ts';

const SEED = 20_260_101;
const SAMPLES = 600;
const MOST_CASES = {
  inventory: 27,
  diskStats: 10,
  clusterOwnership: 24,
  clusterPods: 24,
  clusterExpiry: 30,
} as const;

/** More than one command holds. */
const MANY_IMAGES = Array.from({ length: 104 }, (_, index) => image(`i${index}`, { sizeBytes: 1 }));

/** After each character of its names another set of places in the patterns is where a name can be. */
const COSTLY_NAMES = Array.from({ length: 6 }, (_, index) => {
  let state = index + 1;
  return Array.from({ length: 300 }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state > 1_073_741_824 ? 'a' : 'b';
  }).join('');
});
const COSTLY_PATTERNS = Array.from(
  { length: 400 },
  (_, index) => `**a${'?'.repeat(1 + (index % 15))}b${index}`,
);

/** What no arbitrary has. */
const someContent = { event: fc.sample(arbitraryContainerNode, { seed: SEED, numRuns: 1 })[0] };
const paused = (selector: Partial<PauseRecord['selector']>): Unnamed => ({
  topic: 'inventory',
  ...someContent,
  policies: [appliedPolicy()],
  pauses: [pauseRecord({ selector: { ...EVERY_NODE, ...selector } })],
});
const SPECIAL: readonly Unnamed[] = [
  { topic: 'inventory', event: incompleteInventory, ...surrounded(policy()) },
  { topic: 'inventory', event: tooLargeInventory, ...surrounded(policy()) },
  {
    topic: 'inventory',
    event: inventory({ images: MANY_IMAGES, reclaim: reclaim() }),
    ...surrounded(policy()),
  },
  {
    topic: 'inventory',
    event: inventory({ images: COSTLY_NAMES.map((name, index) => image(`i${index}`, { repoTags: [name] })) }),
    ...surrounded(policy({ keep: keepList({ patterns: COSTLY_PATTERNS }) })),
  },
  { topic: 'inventory', ...someContent, policies: [], pauses: [] },
  paused({ nodeNames: [`${NODE.node.slice(0, 3)}*`] }),
  { topic: 'diskStats', event: diskStats(), policies: [], pauses: [] },
  { topic: 'diskStats', event: diskStats(), policies: [appliedPolicy()], pauses: [pauseRecord()] },
];

const sample = (arbitrary: fc.Arbitrary<Unnamed>): readonly Unnamed[] =>
  fc.sample(arbitrary, { seed: SEED, numRuns: SAMPLES });

const CANDIDATES: readonly Unnamed[] = [...SPECIAL, ...Object.values(ARBITRARY_CASES).flat().flatMap(sample)];

/** A rule and an outcome are worth more than another sentence about them. */
const worthOf = (finding: string): number => (/ (remove|keep|doubts|notes) |^\S+ \S+$/.test(finding) ? 3 : 1);

interface Candidate {
  readonly recorded: Unnamed;
  readonly findings: ReadonlySet<string>;
}

/** Again and again the one with the most that none before it has met. */
function chooseCases(topic: CorpusCase['topic']): readonly Unnamed[] {
  const candidates = CANDIDATES.filter((recorded) => recorded.topic === topic).map(
    (recorded): Candidate => ({ recorded, findings: findingsOf({ name: '', ...recorded }) }),
  );
  const met = new Set<string>();
  const chosen: Unnamed[] = [];
  const newIn = ({ findings }: Candidate): number =>
    [...findings].filter((finding) => !met.has(finding)).reduce((sum, finding) => sum + worthOf(finding), 0);
  while (chosen.length < MOST_CASES[topic]) {
    const [best] = candidates.toSorted((a, b) => newIn(b) - newIn(a));
    if (best === undefined || newIn(best) === 0) break;
    for (const finding of best.findings) met.add(finding);
    chosen.push(best.recorded);
  }
  process.stdout.write(`${topic}: ${chosen.length} cases meet ${met.size} findings\n`);
  return chosen;
}

const topics = process.argv.slice(2).map((topic) => CorpusCase.shape.topic.parse(topic));
for (const topic of topics.length === 0 ? CorpusCase.shape.topic.options : topics) {
  for (const file of readdirSync(CORPUS_DIRECTORY))
    if (file.startsWith(`${topic}-`)) rmSync(new URL(file, CORPUS_DIRECTORY));
  for (const [index, recorded] of chooseCases(topic).entries()) {
    const name = `${topic}-${String(index + 1).padStart(2, '0')}`;
    writeFileSync(new URL(`${name}.json`, CORPUS_DIRECTORY), `${JSON.stringify({ name, ...recorded })}\n`);
  }
}
writeFileSync(OVERTAKING_FILE, `${JSON.stringify(OVERTAKING_CASES, null, 1)}\n`);
