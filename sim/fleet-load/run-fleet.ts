import type { Consumer } from '../../packages/pipeline/consume.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import { accountOf, type FleetAccount } from './account.ts';
import { beginLives, createFleet } from './create-fleet.ts';
import type { FleetRun, RunningFleet } from './fleet-run.ts';
import { consumeOrders } from './orders-consumer.ts';
import { progressLine } from './progress.ts';

const SAY_EVERY_MS = 5_000;

/** A fleet lives for a while, ends what was begun, and accounts for it. When the signal aborts it lives no longer. */
export async function runSimulatedFleet(run: FleetRun, signal: AbortSignal): Promise<FleetAccount> {
  const fleet = createFleet(run);
  const { living, books, members, failure } = fleet;
  const byKey = new Map(members.map((member) => [nodeKey(member.node.identity), member]));
  await using consumer = await consumeOrders(run.process, (key) => byKey.get(key));
  await joined(run, consumer, signal);
  beginLives(run, fleet);
  const startedMs = run.process.sources.monotonicNow();
  const cpu = process.cpuUsage();
  const telling = setInterval(() => run.say(progressLine(run, fleet, startedMs)), SAY_EVERY_MS);
  const either = AbortSignal.any([signal, failure.signal]);
  try {
    await living.time.run(run.durationMs, either);
    const livedMs = living.time.now();
    const livedRealMs = run.process.sources.monotonicNow() - startedMs;
    fleet.quiet();
    const isDrained = await drain(run, fleet, consumer);
    if (failure.signal.aborted) throw failure.signal.reason;
    const { user, system } = process.cpuUsage(cpu);
    return accountOf(books, {
      nodes: run.nodes,
      seed: run.seed,
      cluster: run.cluster,
      rate: { asked: run.rate, achieved: Math.round((livedMs / livedRealMs) * 1000) / 1000 },
      livedMs,
      isDrained,
      drainedMs: living.time.now() - livedMs,
      realMs: Math.round(run.process.sources.monotonicNow() - startedMs),
      cpuMs: Math.round((user + system) / 1000),
      peakMemoryBytes: process.resourceUsage().maxRSS * 1024,
      unread: lagOf(consumer),
      published: fleet.published(),
      isRunning: (node) => byKey.get(`${run.cluster}/${node}`)?.isRunning() ?? false,
    });
  } finally {
    clearInterval(telling);
    for (const member of members) if (member.isRunning()) member.kill();
  }
}

/** Nobody is told of what came before the fleet was there. */
async function joined(
  { process: parts, say }: FleetRun,
  consumer: Consumer,
  signal: AbortSignal,
): Promise<void> {
  say('joining the log');
  while (!signal.aborted && !consumer.state().joined) await parts.sources.wait(50, signal);
}

const LOOK_EVERY_MS = 500;
/** So often in a row nothing is found to be open. */
const QUIET_LOOKS = 6;

/** Also on a machine that is far too slow for the fleet somebody waits for the account. */
const LONGEST_DRAIN_REAL_MS = 240_000;

/** Until every command and order has its answer, several looks in a row; `false` when the time for it is up before. */
async function drain(run: FleetRun, fleet: RunningFleet, consumer: Consumer): Promise<boolean> {
  const { living, books, members } = fleet;
  const { time } = living;
  const byName = new Map(members.map((member) => [member.node.identity.node, member]));
  const isOpen = (): boolean =>
    lagOf(consumer) > 0 ||
    books.commanded.open().some(({ node }) => byName.get(node)?.isRunning()) ||
    books.orders.counts().open > 0;
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
