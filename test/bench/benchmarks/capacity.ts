import { say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { fullNode } from '../inventories.ts';
import type { BenchKafka } from '../kafka.ts';
import { type Course, type Latencies, runFull, runLoad } from '../load.ts';
import { spreadOf } from '../statistics.ts';
import { kafkaCourse, pooled, relayCourse } from './latency.ts';

const NODES = 40;
const SENDERS = 32;
const FULL_EVENTS = 1_500;
const FULL_ROUNDS = 2;
const SHARES = [0.1, 0.5, 0.8];
const ROUNDS = 6;
/** A round of each load takes so long. */
const ROUND_SECONDS = 3;

/** Inventory to command at shares of what one worker takes, beside a relay of the same bytes under the same load. */
export async function benchCapacity(kafka: BenchKafka): Promise<Findings> {
  await using stack = new AsyncDisposableStack();
  const nodes = Array.from({ length: NODES }, (_, index) =>
    fullNode(`node-${index}`, { images: 200, containers: 30 }),
  );
  const courses: Courses = {
    ours: await kafkaCourse(kafka, nodes, stack),
    relay: await relayCourse(kafka, nodes, stack),
  };
  const full = await capacities(courses);
  const capacity = spreadOf(full.ours);
  const figures: Figure[] = [
    {
      benchmark: 'capacity',
      name: `one worker, ${SENDERS} on their way`,
      unit: 'events/s',
      value: capacity,
      baseline: spreadOf(full.relay),
      baselineName: 'relay',
      samples: FULL_ROUNDS,
      aim: null,
    },
  ];
  for (const share of SHARES) figures.push(...(await atShare(courses, share, capacity.median)));
  return {
    figures,
    notes: [
      `Capacity: events/s while ${SENDERS} inventories of 200 images are always on their way; load generator, broker and worker share the cores, so it is that of all of them together.`,
      'Loads are shares of the capacity of image-gc, the same for the relay. p99 is of all rounds together, its spread of single rounds.',
    ],
  };
}

interface Courses {
  readonly ours: Course;
  readonly relay: Course;
}

async function capacities({ ours, relay }: Courses) {
  const full: { readonly ours: number[]; readonly relay: number[] } = { ours: [], relay: [] };
  for (let round = 0; round <= FULL_ROUNDS; round += 1) {
    say(`capacity, ${round === 0 ? 'warm-up' : `round ${round} of ${FULL_ROUNDS}`}`);
    const load = { senders: SENDERS, count: FULL_EVENTS };
    const rates = [await runFull(ours, load), await runFull(relay, load)] as const;
    if (round === 0) continue;
    full.ours.push(rates[0]);
    full.relay.push(rates[1]);
  }
  return full;
}

async function atShare(courses: Courses, share: number, capacity: number): Promise<Figure[]> {
  const perSecond = Math.max(1, Math.round(capacity * share));
  const load = { perSecond, count: perSecond * ROUND_SECONDS };
  const rounds: { readonly ours: Latencies[]; readonly relay: Latencies[] } = { ours: [], relay: [] };
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`capacity, ${share * 100} % = ${perSecond} events/s, round ${round} of ${ROUNDS}`);
    rounds.ours.push(await runLoad(courses.ours, load));
    rounds.relay.push(await runLoad(courses.relay, load));
  }
  const [ours, relay] = [rounds.ours, rounds.relay].map((all) => all.map(({ sentToSeen }) => sentToSeen));
  return [50, 99].map((percent) => ({
    benchmark: 'capacity',
    name: `${share * 100} % of capacity, ${perSecond}/s: p${percent} sent to seen`,
    unit: 'ms',
    value: pooled(ours ?? [], percent),
    baseline: pooled(relay ?? [], percent),
    baselineName: 'relay',
    samples: load.count * ROUNDS,
    aim: percent === 99 ? { kind: 'ratio-at-most', limit: 2 } : null,
  }));
}
