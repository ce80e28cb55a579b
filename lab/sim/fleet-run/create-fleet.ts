import { setImmediate } from 'node:timers/promises';
import { createPublisher, nodeSource } from '../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { fleetCatalogue } from '../fleet/fleet-catalogue.ts';
import { planFaults } from '../fleet/fleet-faults.ts';
import { createFleetNode, type FleetNode } from '../fleet/fleet-node.ts';
import { createFleetTime } from '../fleet/fleet-time.ts';
import { type BusyFleet, beginWorkload, rollOut } from '../fleet/fleet-workload.ts';
import { setInitialState } from '../fleet/initial-state.ts';
import { createFleetMember } from './fleet-member.ts';
import type { FleetRun, RunningFleet } from './fleet-run.ts';
import { createFleetTally } from './fleet-tally.ts';
import { countedLog } from './watched-publishing.ts';

/** Agents start one after the other, so that they do not all report at the same moments later either. */
const RAMP_PER_NODE_MS = 30;
/** The first part of the run; faults come after it. */
const LONGEST_RAMP = 0.25;

/** The nodes as their past left them; no time has passed yet. */
export function createFleet(run: FleetRun): RunningFleet {
  const { process: parts, seed, cluster } = run;
  const { now, monotonicNow, traceIds: ids, wait } = parts.sources;
  const epochMs = now();
  const time = createFleetTime({
    rate: run.rate,
    realNow: monotonicNow,
    yieldToEventLoop: async () => {
      await setImmediate();
    },
    wait,
  });
  const catalogue = fleetCatalogue(seed, epochMs);
  const failure = new AbortController();
  const bare = { cluster, seed, time, epochMs, catalogue };
  let isQuiet = false;
  const tally = createFleetTally({ fleet: bare, policies: run.policies, realNowMs: monotonicNow });
  const busyFleet: BusyFleet = {
    ...bare,
    untilMs: run.durationMs,
    report: ({ what }) => tally.life.add(what),
    isOver: () => isQuiet,
  };
  const log = countedLog(parts.log);
  const context = {
    fleet: busyFleet,
    faults: run.faults,
    tally,
    policies: run.policies,
    publisherOf: (node: FleetNode) =>
      createPublisher({ log, source: nodeSource(node.identity), now, ids, signer: UNSIGNED }),
    isQuiet: () => isQuiet,
    logger: parts.logger,
    failed: (error: unknown) => failure.abort(error),
  };
  const members = Array.from({ length: run.nodes }, (_, index) => {
    const node = createFleetNode(busyFleet, index);
    setInitialState(busyFleet, node);
    return createFleetMember(context, node);
  });
  return {
    busyFleet,
    tally,
    members,
    failure,
    published: log.published,
    quiet: () => {
      isQuiet = true;
    },
  };
}

/** Puts into the queue what will happen: starts, lives, roll-outs and faults. */
export function scheduleAll(run: FleetRun, { busyFleet, members, tally }: RunningFleet): void {
  const rampMs = Math.min(RAMP_PER_NODE_MS * run.nodes, LONGEST_RAMP * run.durationMs);
  const byNode = new Map(members.map((member) => [member.node, member]));
  const processes = {
    kill: (node: FleetNode) => byNode.get(node)?.kill(),
    start: (node: FleetNode) => byNode.get(node)?.start(),
  };
  for (const [index, member] of members.entries()) {
    const { node } = member;
    busyFleet.time.at(Math.floor((index / members.length) * rampMs), () => {
      if (!busyFleet.isOver()) member.start();
    });
    beginWorkload(busyFleet, node);
    planFaults(busyFleet, node, { faults: run.faults, processes, onFault: tally.onFault });
  }
  rollOut(
    busyFleet,
    members.map(({ node }) => node),
  );
}
