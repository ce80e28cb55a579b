import { setTimeout as sleep } from 'node:timers/promises';
import { say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { fullNode } from '../inventories.ts';
import { type BenchCluster, startKafkaCluster } from '../kafka.ts';
import { type Course, type Load, runLoad } from '../load.ts';
import { kafkaCourse, pooled, relayCourse } from './latency.ts';

const NODES = 40;
const WARM_UP: Load = { perSecond: 10, count: 40 };
const QUIET: Load = { perSecond: 10, count: 80 };
/** Long enough for another broker to lead what the killed one led. */
const HIT: Load = { perSecond: 10, count: 200 };
const KILL_AFTER_MS = 4000;
const REJOINED_MS = 8000;
const ROUNDS = 2;
/** Neither the first that clients are told of nor the only one that holds anything. */
const VICTIM = 2;
const PHASES = ['three brokers', 'one is killed', 'two brokers'] as const;
type Phase = (typeof PHASES)[number];
type Times = Record<Phase, number[][]>;

/** Event to command on three brokers with three copies, before, while and after one of them is killed. */
export async function benchBrokers(): Promise<Findings> {
  await using stack = new AsyncDisposableStack();
  const kafka = stack.use(await startKafkaCluster());
  const nodes = Array.from({ length: NODES }, (_, index) =>
    fullNode(`node-${index}`, { images: 200, containers: 30 }),
  );
  const courses = {
    fleetgc: await kafkaCourse(kafka, nodes, stack),
    relay: await relayCourse(kafka, nodes, stack),
  };
  for (const course of Object.values(courses)) await runLoad(course, WARM_UP);
  const fleetgc = emptyTimes();
  const relay = emptyTimes();
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`brokers: round ${round} of ${ROUNDS}`);
    await killOnce(kafka, courses.fleetgc, fleetgc);
    await killOnce(kafka, courses.relay, relay);
  }
  return {
    figures: PHASES.flatMap((phase) =>
      [50, 99, 100].map((percent) => figure(phase, percent, fleetgc, relay)),
    ),
    notes: [
      'Three brokers that are all controllers (256 MB of heap each) share the machine with load generator, worker and relay; three copies, min.insync.replicas=2, acks of all.',
      `Inventories of 200 images, ${QUIET.perSecond} a second; in the second phase one broker is killed after ${KILL_AFTER_MS / 1000} s, and every event of the phase is counted. All events came out in all phases, or the run would have failed.`,
      'Brokers notice a death after broker.session.timeout.ms, here 3 s, by default 9 s: until then what the dead one led stands still.',
      'Baseline: a kafkajs relay of the same bytes on the same brokers, under a kill of its own.',
    ],
  };
}

const emptyTimes = (): Times => ({ 'three brokers': [], 'one is killed': [], 'two brokers': [] });

async function killOnce({ cluster }: BenchCluster, course: Course, times: Times): Promise<void> {
  const victim = cluster.brokers[VICTIM];
  if (victim === undefined) throw new RangeError('there are fewer than three brokers');
  const run = async (load: Load): Promise<number[]> => [...(await runLoad(course, load)).sentToSeen];
  times['three brokers'].push(await run(QUIET));
  const hit = run(HIT);
  await sleep(KILL_AFTER_MS);
  await victim.kill();
  times['one is killed'].push(await hit);
  times['two brokers'].push(await run(QUIET));
  await victim.start();
  await sleep(REJOINED_MS);
}

const percentText = (percent: number): string => (percent === 100 ? 'longest' : `p${percent}`);

const figure = (phase: Phase, percent: number, fleetgc: Times, relay: Times): Figure => ({
  benchmark: 'brokers',
  name: `${phase}: ${percentText(percent)} sent to seen`,
  unit: 'ms',
  value: pooled(fleetgc[phase], percent),
  baseline: pooled(relay[phase], percent),
  baselineName: 'relay',
  samples: fleetgc[phase].flat().length,
  aim: percent === 100 ? null : { kind: 'ratio-at-most', limit: 2 },
});
