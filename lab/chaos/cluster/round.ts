import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { auditFindings } from '../fleet/audit.ts';
import { LASTING } from '../lasting.ts';
import type { Counts, PlayedRound, RoundSettings } from '../played-round.ts';
import { play } from '../schedule/play.ts';
import type { ClusterSchedule } from '../schedule/schedule.ts';
import { LOOK_EVERY_MS, settle } from '../settle.ts';
import { beginClusterFault } from './faults/table.ts';
import { type ClusterFleet, startClusterFleet } from './fleet/fleet.ts';
import type { ClusterEvidence, ClusterPlayed } from './judge/evidence.ts';
import { judgeCluster } from './judge/judge.ts';
import { clusterLogEvidence } from './judge/log-evidence.ts';
import { CLUSTER_MACHINE } from './shape.ts';

const LONGEST_START_MS = 20_000;
/** All that happened is replayed at each look. */
const LOOK_AT_CLUSTER_EVERY_MS = 1_000;

/** Plays a schedule on a cluster and what collects it, on a broker without topics. */
export async function playOnCluster(
  settings: RoundSettings,
  schedule: ClusterSchedule,
): Promise<PlayedRound> {
  const { signal, directory } = settings;
  await using fleet = await startClusterFleet({ ...settings, ...schedule });
  await underWay(fleet, signal);
  const faults = await play(schedule, (fault) => beginClusterFault(fleet, fault.kind, fault), signal);
  fleet.rest();
  await fleet.operator.apply('at-rest');
  const judge = (evidence: ClusterEvidence) => judgeCluster(evidence, Date.now());
  const look = (): ClusterEvidence => evidenceOf(fleet, faults);
  const { evidence: seen, settledMs } = await settle(
    { look, judge, lookEveryMs: LOOK_AT_CLUSTER_EVERY_MS },
    signal,
  );
  fleet.log.write(join(directory, 'log.ndjson'));
  fleet.server.writeTruth(join(directory, 'truth.ndjson'));
  const starts = fleet.parts.reduce((sum, part) => sum + part.starts(), 0);
  const audit = await auditFindings(fleet.run);
  const archive = await fleet.archive.evidence();
  const evidence = { ...seen, audit, archive };
  return { violations: judge(evidence), counts: countsOf(evidence, starts), settledMs };
}

/** Faults come to parts at work: something has gone, or nobody waits for it any longer. */
async function underWay({ server }: ClusterFleet, signal: AbortSignal): Promise<void> {
  const untilMs = Date.now() + LONGEST_START_MS;
  const isAtWork = (): boolean => server.truth.some((line) => 'by' in line && line.by === 'product');
  while (Date.now() < untilMs && !isAtWork()) await sleep(LOOK_EVERY_MS, undefined, { signal });
}

function evidenceOf(
  { server, operator, log, keys, clock }: ClusterFleet,
  played: readonly ClusterPlayed[],
): ClusterEvidence {
  return {
    truth: [...server.truth],
    acts: operator.acts,
    keys: keys.acts,
    clock: clock(CLUSTER_MACHINE).steps,
    played,
    audit: null,
    archive: null,
    log: clusterLogEvidence({
      lasting: LASTING.flatMap((topic) => log.records(topic)),
      commands: log.records('gc.cluster.commands'),
      results: log.records('gc.cluster.results'),
      deadLetters: log.records('gc.dead-letters'),
      policies: log.records('gc.policies'),
      keys: keys.acts,
    }),
  };
}

const countsOf = ({ truth, log, played }: ClusterEvidence, starts: number): Counts => ({
  faults: played.length,
  commands: new Set(log.orders.map(({ id }) => id)).size,
  results: log.told.length,
  removals: truth.filter((line) => line.kind === 'gone' && line.by === 'product').length,
  starts,
  distrusted: log.distrusted.size,
});
