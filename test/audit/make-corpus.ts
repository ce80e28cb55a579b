/**
 * Writes a corpus: of many arbitrary messages, with fixed seeds, those few that together meet the most rules. For a decider that
 * has rules the corpus does not meet; other libraries or fixtures give other cases, so this is nothing for every day.
 */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { DiskStats } from '../../schemas/disk-stats.ts';
import { type CompleteInventory, Inventory } from '../../schemas/inventory.ts';
import type { PauseRecord, Policy } from '../../schemas/policy.ts';
import { arbitraryContainerNode, arbitraryContainerPolicy } from '../container-gc/arbitrary.ts';
import { appliedPolicy } from '../fixtures/applied-policy.ts';
import { arbitraryPolicy } from '../fixtures/arbitrary-node.ts';
import { diskStats } from '../fixtures/disk-stats.ts';
import { filesystems } from '../fixtures/filesystems.ts';
import { image, incompleteInventory, inventory, NODE, tooLargeInventory } from '../fixtures/inventory.ts';
import { EVERY_NODE, pauseRecord, policy } from '../fixtures/policy.ts';
import { reclaim } from '../fixtures/reclaim.ts';
import { HOUR } from '../fixtures/time.ts';
import { arbitraryCase } from '../image-gc/support/arbitrary-case.ts';
import { nodeWithLayers } from '../image-gc/support/arbitrary-layers.ts';
import { someNode, somePolicy } from '../pressure/arbitrary.ts';
import { CORPUS_DIRECTORY, type CorpusCase } from './corpus.ts';
import { findingsOf } from './findings.ts';

const SEED = 20_260_101;
const SAMPLES = 600;
const MOST_CASES = { inventory: 26, diskStats: 10 } as const;

type Unnamed = Omit<CorpusCase, 'name'>;

/** The policy under test among others, so that each case selects one too. */
const surrounded = (settings: Policy): Pick<CorpusCase, 'policies' | 'pauses'> => ({
  policies: [
    appliedPolicy({ name: 'batch', priority: 5, selector: { ...EVERY_NODE, nodeNames: ['batch-*'] } }),
    appliedPolicy({ name: 'pools', priority: 9, selector: { ...EVERY_NODE, pools: ['gpu', 'spot'] } }),
    appliedPolicy(settings),
  ],
  pauses: [pauseRecord({ selector: { ...EVERY_NODE, clusters: ['elsewhere'] } })],
});

const mode = fc.constantFrom<Policy['mode']>('enforce', 'enforce', 'enforce', 'dry-run');

const PLAIN = fc.constant({});
/** What an inventory may say beside its lists: mostly nothing more. */
const ofInventory = fc.oneof(
  { arbitrary: PLAIN, weight: 10 },
  fc.constantFrom<Partial<CompleteInventory>>(
    { commandVersions: [7] },
    { filesystems: { ...filesystems(), imagefs: null } },
    { filesystems: filesystems({ capacityBytes: '0', availableBytes: '0' }) },
    { filesystems: filesystems({ availableBytes: '1001' }) },
    { filesystems: filesystems({ availableBytes: '900' }) },
    { sandboxImageKnown: false },
    { podImagesKnown: false },
    { containersWithoutImage: ['container-1'] },
    { diedContainerIds: ['container0', 'container1', 'container2', 'container3'] },
    { imagesWatchedSinceMs: null },
    { images: [] },
  ),
);
const ofDiskStats = fc.oneof(
  { arbitrary: PLAIN, weight: 10 },
  fc.constantFrom<Partial<DiskStats>>(
    { filesystems: { ...filesystems(), imagefs: null } },
    { filesystems: { ...filesystems(), containerfs: null } },
    { filesystems: filesystems({ inodes: '0', inodesFree: '0' }) },
    { filesystems: filesystems({ availableBytes: '1001' }) },
    { nodeLabels: { 'fleetgc.io/pool': 'gpu' } },
  ),
);
const ofPolicy = fc.oneof(
  { arbitrary: PLAIN, weight: 10 },
  fc.constantFrom<Partial<Policy>>(
    { forcedGC: false },
    { evictionThresholds: [] },
    { maximumDeadContainerAgeMs: 1 },
    { imageMaximumGCAgeMs: 25 * HOUR },
    { imageGCHighThresholdPercent: 100 },
  ),
);

const cases = (
  topic: CorpusCase['topic'],
  given: fc.Arbitrary<{ readonly event: object; readonly settings: Policy }>,
): fc.Arbitrary<Unnamed> =>
  fc
    .tuple(given, topic === 'inventory' ? ofInventory : ofDiskStats, ofPolicy, mode)
    .map(([{ event, settings }, more, otherwise, mode]) => ({
      topic,
      event: { ...event, ...more },
      ...surrounded({ ...settings, ...otherwise, mode }),
    }));

const imageCase = arbitraryCase.map(({ given, settings }) => ({ event: given, settings }));

/** More than one command holds. */
const MANY_IMAGES = Array.from({ length: 104 }, (_, index) => image(`i${index}`, { sizeBytes: 1 }));

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
  { topic: 'inventory', ...someContent, policies: [], pauses: [] },
  paused({ nodeNames: [`${NODE.node.slice(0, 3)}*`] }),
  { topic: 'diskStats', event: diskStats(), policies: [], pauses: [] },
  { topic: 'diskStats', event: diskStats(), policies: [appliedPolicy()], pauses: [pauseRecord()] },
];

const isValid = ({ topic, event }: Unnamed): boolean =>
  (topic === 'inventory' ? Inventory : DiskStats).safeParse(JSON.parse(JSON.stringify(event))).success;

const sample = (arbitrary: fc.Arbitrary<Unnamed>): readonly Unnamed[] =>
  fc.sample(arbitrary, { seed: SEED, numRuns: SAMPLES });

const CANDIDATES: readonly Unnamed[] = [
  ...SPECIAL,
  ...sample(cases('inventory', imageCase)),
  ...sample(cases('inventory', fc.record({ event: nodeWithLayers, settings: arbitraryPolicy }))),
  ...sample(
    cases('inventory', fc.record({ event: arbitraryContainerNode, settings: arbitraryContainerPolicy })),
  ),
  ...sample(cases('diskStats', fc.record({ event: someNode, settings: somePolicy }))),
].filter(isValid);

/** A rule is worth more than another sentence about it. */
const worthOf = (finding: string): number => (/ (remove|keep|doubts|notes) /.test(finding) ? 3 : 1);

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

for (const file of readdirSync(CORPUS_DIRECTORY)) rmSync(new URL(file, CORPUS_DIRECTORY));
for (const topic of ['inventory', 'diskStats'] as const)
  for (const [index, recorded] of chooseCases(topic).entries()) {
    const name = `${topic}-${String(index + 1).padStart(2, '0')}`;
    writeFileSync(new URL(`${name}.json`, CORPUS_DIRECTORY), `${JSON.stringify({ name, ...recorded })}\n`);
  }
