import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TOPICS } from '../../schemas/events/topics.ts';
import type { ChaosBroker } from './broker/broker.ts';
import { deleteTopics } from './broker/topics.ts';
import { auditFindings } from './fleet/audit.ts';
import { type Fleet, startFleet } from './fleet/fleet.ts';
import type { ImageSource } from './fleet/image-source.ts';
import type { Evidence, Violation } from './judge/evidence.ts';
import { judge } from './judge/judge.ts';
import { logEvidence } from './judge/log-evidence.ts';
import { RELIEF_MS } from './judge/relief.ts';
import { play } from './schedule/play.ts';
import type { Played } from './schedule/played.ts';
import type { Schedule } from './schedule/schedule.ts';
import { readTruth } from './truth.ts';

/** How a round came out, as one line of the campaign's file. */
export interface Outcome {
  /** `broken`: the round itself could not be carried out, which says nothing about the product. */
  readonly outcome: 'held' | 'violated' | 'broken';
  readonly violations: readonly Violation[];
  readonly problem: string | null;
  readonly counts: Counts | null;
  /** From the last fault until everything was relieved and answered. */
  readonly settledMs: number | null;
  readonly tookMs: number;
}

export interface Counts {
  readonly faults: number;
  readonly commands: number;
  readonly results: number;
  readonly removals: number;
  readonly starts: number;
  /** Messages that no key signed which counted. */
  readonly distrusted: number;
}

export interface RoundSettings {
  readonly broker: ChaosBroker;
  readonly program: string;
  /** Where real runtimes pull from; begun by the first round that has any. */
  readonly images: () => Promise<ImageSource>;
  /** For everything that the round leaves behind. */
  readonly directory: string;
  /** Ends the round where it stands. */
  readonly signal: AbortSignal;
}

/** Ten times as long as a round usually takes. */
const ROUND_BOUND_MS = 600_000;
const LOOK_EVERY_MS = 300;
const LONGEST_START_MS = 15_000;
/** What is well for so long stays well. */
const CALM_LOOKS = 5;

/** Plays a schedule on a fleet of its own, waits until it came to rest, and judges what it did. */
export async function runRound(settings: RoundSettings, schedule: Schedule): Promise<Outcome> {
  const beganMs = Date.now();
  const tookMs = (): number => Date.now() - beganMs;
  const bound = AbortSignal.timeout(ROUND_BOUND_MS);
  try {
    const signal = AbortSignal.any([settings.signal, bound]);
    const { evidence, settledMs, starts } = await played({ ...settings, signal }, schedule);
    const violations = judge(evidence);
    const outcome = violations.length > 0 ? 'violated' : 'held';
    const counts = countsOf(evidence, schedule, starts);
    return { outcome, violations, problem: null, counts, settledMs, tookMs: tookMs() };
  } catch (error) {
    const problem = bound.aborted
      ? `it did not end within ${ROUND_BOUND_MS / 1000} s`
      : error instanceof Error
        ? (error.stack ?? error.message)
        : String(error);
    return { outcome: 'broken', violations: [], problem, counts: null, settledMs: null, tookMs: tookMs() };
  }
}

interface PlayedRound {
  readonly evidence: Evidence;
  readonly settledMs: number | null;
  readonly starts: number;
}

async function played(settings: RoundSettings, schedule: Schedule): Promise<PlayedRound> {
  await deleteTopics(settings.broker.address);
  const images = schedule.runtime === 'containerd' ? await settings.images() : null;
  const { seed, statementsLateMs } = schedule;
  const drawn = { seed, statementsLateMs };
  await using fleet = await startFleet({ ...settings, images, ...drawn });
  await underWay(fleet, settings.signal);
  const faults = await play(fleet, schedule, settings.signal);
  const { evidence, settledMs } = await settled(fleet, faults, settings.signal);
  fleet.log.write(join(settings.directory, 'log.ndjson'));
  const starts = fleet.parts.reduce((sum, part) => sum + part.starts(), 0);
  const audit = await auditFindings(fleet.run);
  const archive = await fleet.archive.evidence();
  return { evidence: { ...evidence, audit, archive }, settledMs, starts };
}

/** Faults come to a fleet at work: each node has a command for images, or nobody waits for one any longer. */
async function underWay({ nodes, log }: Fleet, signal: AbortSignal): Promise<void> {
  const untilMs = Date.now() + LONGEST_START_MS;
  const isAtWork = ({ name }: { readonly name: string }): boolean =>
    log
      .records('gc.node.commands')
      .some(({ key, value }) => key?.endsWith(`/${name}`) && value?.includes('image-removal'));
  while (Date.now() < untilMs && !nodes.every(isAtWork)) await sleep(LOOK_EVERY_MS, undefined, { signal });
}

interface Settled {
  /** As it was seen last: what begins afterwards has not come to its end. */
  readonly evidence: Evidence;
  /** `null`: it did not come to rest within the bound, and the judge will say why. */
  readonly settledMs: number | null;
}

async function settled(fleet: Fleet, faults: readonly Played[], signal: AbortSignal): Promise<Settled> {
  await fleet.operator.apply('usual');
  for (const node of fleet.nodes) node.tell({ kind: 'rest' });
  const fromMs = Date.now();
  let calm = 0;
  while (Date.now() - fromMs < RELIEF_MS) {
    await sleep(LOOK_EVERY_MS, undefined, { signal });
    for (const node of fleet.nodes) node.requireAlive();
    const evidence = evidenceOf(fleet, faults);
    calm = judge(evidence).some(mayPass) ? 0 : calm + 1;
    if (calm === CALM_LOOKS) return { evidence, settledMs: Date.now() - fromMs - CALM_LOOKS * LOOK_EVERY_MS };
  }
  return { evidence: evidenceOf(fleet, faults), settledMs: null };
}

/** Nothing is compacted away from these. */
const LASTING = Object.values(TOPICS)
  .filter(({ compacted }) => !compacted)
  .map(({ name }) => name);

/** What is not answered or relieved yet may be; everything else is done. */
const mayPass = ({ invariant }: Violation): boolean => invariant === 'lost' || invariant === 'relief';

function evidenceOf({ nodes, operator, log, keys, clock }: Fleet, faults: readonly Played[]): Evidence {
  return {
    nodes: nodes.map(({ name, truthPath }) => ({ name, truth: readTruth(truthPath) })),
    acts: operator.acts,
    keys: keys.acts,
    clocks: Object.fromEntries(nodes.map(({ name }) => [name, clock(name).steps])),
    played: faults,
    audit: null,
    archive: null,
    log: logEvidence({
      lasting: LASTING.flatMap((topic) => log.records(topic)),
      commands: log.records('gc.node.commands'),
      results: log.records('gc.node.results'),
      deadLetters: log.records('gc.dead-letters'),
      policies: log.records('gc.policies'),
      keys: keys.acts,
    }),
  };
}

const countsOf = ({ nodes, log }: Evidence, { faults }: Schedule, starts: number): Counts => ({
  faults: faults.length,
  commands: log.commands.length,
  results: log.results.length,
  removals: nodes.flatMap(({ truth }) => truth).filter((line) => 'by' in line && line.by === 'cri').length,
  starts,
  distrusted: log.distrusted.size,
});
