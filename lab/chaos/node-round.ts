import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beginFault } from './faults/table.ts';
import { auditFindings } from './fleet/audit.ts';
import { type Fleet, startFleet } from './fleet/fleet.ts';
import type { Evidence } from './judge/evidence.ts';
import { judge } from './judge/judge.ts';
import { logEvidence } from './judge/log-evidence.ts';
import { LASTING } from './lasting.ts';
import type { Counts, PlayedRound, RoundSettings } from './played-round.ts';
import { play } from './schedule/play.ts';
import type { Played } from './schedule/played.ts';
import type { NodesSchedule } from './schedule/schedule.ts';
import { LOOK_EVERY_MS, settle } from './settle.ts';
import { readTruth } from './truth.ts';

const LONGEST_START_MS = 15_000;

/** Plays a schedule on a fleet of nodes, on a broker without topics. */
export async function playOnNodes(settings: RoundSettings, schedule: NodesSchedule): Promise<PlayedRound> {
  const { signal, directory } = settings;
  const images = schedule.runtime === 'containerd' ? await settings.images() : null;
  const { seed, statementsLateMs } = schedule;
  await using fleet = await startFleet({ ...settings, images, seed, statementsLateMs });
  await underWay(fleet, signal);
  const faults = await play(schedule, (fault) => beginFault(fleet, fault.kind, fault), signal);
  await fleet.operator.apply('usual');
  for (const node of fleet.nodes) node.tell({ kind: 'rest' });
  const look = (): Evidence => {
    for (const node of fleet.nodes) node.requireAlive();
    return evidenceOf(fleet, faults);
  };
  const { evidence: seen, settledMs } = await settle({ look, judge, lookEveryMs: LOOK_EVERY_MS }, signal);
  fleet.log.write(join(directory, 'log.ndjson'));
  const starts = fleet.parts.reduce((sum, part) => sum + part.starts(), 0);
  const audit = await auditFindings(fleet.run);
  const archive = await fleet.archive.evidence();
  const evidence = { ...seen, audit, archive };
  return { violations: judge(evidence), counts: countsOf(evidence, starts), settledMs };
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

const countsOf = ({ nodes, log, played }: Evidence, starts: number): Counts => ({
  faults: played.length,
  commands: log.commands.length,
  results: log.results.length,
  removals: nodes.flatMap(({ truth }) => truth).filter((line) => 'by' in line && line.by === 'cri').length,
  starts,
  distrusted: log.distrusted.size,
});
