import { setImmediate } from 'node:timers/promises';
import type { PolicySource } from '../../../packages/policy/policies.ts';
import { LinkedController } from '../../../packages/process/linked-controller.ts';
import { type Consumer, startConsumer } from '../../../packages/records/consume.ts';
import { NO_MARKS } from '../../../packages/records/dead-letters/crash-marks.ts';
import { createDeadLetters } from '../../../packages/records/dead-letters/dead-letters.ts';
import { createAgentPublisher } from '../../../packages/records/latest-facts.ts';
import { createPublisher, nodeSource, serviceSource } from '../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../packages/records/trust/signer.ts';
import type { ServiceProcess } from '../../../packages/service/service-process.ts';
import { sizeText } from '../../../packages/text/size-text.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import { fleetCatalogue } from '../fleet/catalogue.ts';
import { type FleetFaults, planFaults } from '../fleet/faults.ts';
import { createFleetTime } from '../fleet/fleet-time.ts';
import { createFleetNode, type FleetNode } from '../fleet/node.ts';
import { type BusyFleet, beginWorkload, rollOut, setInitialState } from '../fleet/workload.ts';
import { accountOf, type FleetAccount } from './account.ts';
import { countedLog, createFleetMember, type FleetMember } from './fleet-member.ts';
import { createFleetTally, type FleetTally } from './tally.ts';

const SAY_EVERY_MS = 5_000;

/** A fleet lives for a while, ends what was begun, and accounts for it. When the signal aborts it lives no longer. */
export async function runSimulatedFleet(run: FleetRun, signal: AbortSignal): Promise<FleetAccount> {
  const fleet = createFleet(run);
  const { busyFleet, tally, members, failure } = fleet;
  const byKey = new Map(members.map((member) => [nodeKey(member.node.identity), member]));
  await using consumer = await consumeOrders(run.process, (key) => byKey.get(key));
  await joined(run, consumer, signal);
  scheduleAll(run, fleet);
  const startedMs = run.process.sources.monotonicNow();
  const cpu = process.cpuUsage();
  const reporting = setInterval(() => run.say(progressLine(run, fleet, startedMs)), SAY_EVERY_MS);
  using ending = new LinkedController(signal, failure.signal);
  try {
    await busyFleet.time.run(run.durationMs, ending.signal);
    const livedMs = busyFleet.time.now();
    const livedRealMs = run.process.sources.monotonicNow() - startedMs;
    fleet.quiet();
    const isDrained = await drain(run, fleet, consumer);
    if (failure.signal.aborted) throw failure.signal.reason;
    const { user, system } = process.cpuUsage(cpu);
    return accountOf(tally, {
      nodes: run.nodes,
      seed: run.seed,
      cluster: run.cluster,
      rate: { asked: run.rate, achieved: Math.round((livedMs / livedRealMs) * 1000) / 1000 },
      livedMs,
      isDrained,
      drainedMs: busyFleet.time.now() - livedMs,
      realMs: Math.round(run.process.sources.monotonicNow() - startedMs),
      cpuMs: Math.round((user + system) / 1000),
      peakMemoryBytes: process.resourceUsage().maxRSS * 1024,
      unread: lagOf(consumer),
      published: fleet.published(),
      isRunning: (node) => byKey.get(`${run.cluster}/${node}`)?.isRunning() ?? false,
    });
  } finally {
    clearInterval(reporting);
    for (const member of members) if (member.isRunning()) member.kill();
  }
}

/** Nobody is told of what came before the fleet was there. */
async function joined(
  { process: parts, say }: FleetRun,
  consumer: Consumer,
  signal: AbortSignal,
): Promise<void> {
  say('joining the event log');
  while (!signal.aborted && !consumer.state().joined) await parts.sources.wait(50, signal);
}

const LOOK_EVERY_MS = 500;
/** So often in a row nothing is found to be open. */
const QUIET_LOOKS = 6;

/** Also on a machine that is far too slow for the fleet somebody waits for the account. */
const LONGEST_DRAIN_REAL_MS = 240_000;

/** Until every command and order has its answer, several looks in a row; `false` when the time for it is up before. */
async function drain(run: FleetRun, fleet: RunningFleet, consumer: Consumer): Promise<boolean> {
  const { busyFleet, tally, members } = fleet;
  const { time } = busyFleet;
  const byName = new Map(members.map((member) => [member.node.identity.node, member]));
  const isOpen = (): boolean =>
    lagOf(consumer) > 0 ||
    tally.commanded.open().some(({ node }) => byName.get(node)?.isRunning()) ||
    tally.orders.counts().open > 0;
  const { monotonicNow } = run.process.sources;
  const [endMs, endRealMs] = [time.now() + run.drainMs, monotonicNow() + LONGEST_DRAIN_REAL_MS];
  const never = new AbortController().signal;
  for (let quiet = 0; quiet < QUIET_LOOKS; quiet = isOpen() ? 0 : quiet + 1) {
    if (time.now() >= endMs || monotonicNow() >= endRealMs) return false;
    await time.run(time.now() + LOOK_EVERY_MS * run.rate, never);
  }
  return true;
}

const lagOf = (consumer: Consumer): number =>
  [...consumer.state().lag.values()].reduce((sum, lag) => sum + lag, 0);

/** One consumer for the orders and commands of the whole fleet: gives each to the node of its key. */
async function consumeOrders(
  process: ServiceProcess,
  memberOf: (key: string) => FleetMember | undefined,
): Promise<Consumer> {
  const { log, trust, signer, logger, metrics, sources } = process;
  const { now, monotonicNow, traceIds: ids } = sources;
  const publisher = createPublisher({ log, source: serviceSource('simulate-fleet'), now, ids, signer });
  // Another run has other nodes, whatever they are called.
  const group = `fleetgc-simulated-fleet-${sources.newId()}`;
  return await startConsumer({
    name: 'simulate-fleet',
    group,
    start: 'latest',
    assignment: { kind: 'shared' },
    log,
    trust,
    handlers: {
      observe: (input) => memberOf(nodeKey(input.event))?.observe(input) ?? [],
      commands: (input) => memberOf(nodeKey(input.event))?.commands(input) ?? [],
    },
    onRejection: (topic, rejection, record) =>
      memberOf(record.key ?? '')?.rejected(topic, rejection, record) ?? [],
    publisher,
    deadLetters: createDeadLetters({ publisher, group, metrics, logger, now: monotonicNow }),
    logger,
    marks: NO_MARKS,
    metrics,
    now,
    monotonicNow,
  });
}

/** One line on how a run goes. */
function progressLine(
  run: FleetRun,
  { busyFleet, tally, members, published }: RunningFleet,
  startedMs: number,
): string {
  const nowMs = busyFleet.time.now();
  const realMs = run.process.sources.monotonicNow() - startedMs;
  const topics = Object.values(published());
  const events = topics.reduce((sum, one) => sum + one.events, 0);
  const bytes = topics.reduce((sum, one) => sum + one.bytes, 0);
  const { commands, outcomes } = tally.commanded.counts();
  const { wrong, twice } = tally.removals();
  const { nodes, unrelieved } = tally.pressures.counts();
  const rate = nowMs / realMs;
  return [
    `${Math.round(nowMs / 1000)} s lived by ${members.filter((member) => member.isRunning()).length} nodes at ${rate.toFixed(2)}x${rate < run.rate * 0.98 ? ` (asked: ${run.rate}x, this machine is too slow)` : ''}`,
    `${events} events, ${sizeText(BigInt(bytes))}`,
    `${commands.received} commands, ${commands.received - commands.answered} open, ${outcomes.removed ?? 0} removed, ${wrong} wrong, ${twice} twice`,
    `${unrelieved} of ${nodes} full disks not relieved`,
  ].join('; ');
}

/** Agents start one after the other, so that they do not all report at the same moments later either. */
const RAMP_PER_NODE_MS = 30;
/** The first part of the run; faults come after it. */
const LONGEST_RAMP = 0.25;

/** The nodes as their past left them; no time has passed yet. */
function createFleet(run: FleetRun): RunningFleet {
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
      createAgentPublisher(
        { log, source: nodeSource(node.identity), now, ids, signer: UNSIGNED },
        { monotonicNow: () => busyFleet.time.now(), logger: parts.logger },
      ).publisher,
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
function scheduleAll(run: FleetRun, { busyFleet, members, tally }: RunningFleet): void {
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

/** What is asked of a simulated fleet. */
interface FleetRun {
  readonly process: ServiceProcess;
  readonly policies: PolicySource;
  readonly cluster: string;
  readonly nodes: number;
  readonly seed: number;
  /** Time of the fleet in that of the machine. */
  readonly rate: number;
  readonly durationMs: number;
  /** How long, at most, what was begun may end. */
  readonly drainMs: number;
  readonly faults: FleetFaults;
  /** Takes a line about how it goes. */
  readonly say: (line: string) => void;
}

/** A fleet on its way. */
interface RunningFleet {
  readonly busyFleet: BusyFleet;
  readonly tally: FleetTally;
  readonly members: readonly FleetMember[];
  readonly failure: AbortController;
  readonly published: () => FleetAccount['published'];
  /** From here on no agent looks of itself. */
  quiet(): void;
}
