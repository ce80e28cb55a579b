import { say } from '../context.ts';
import type { Aim, Figure, Findings } from '../figure.ts';
import {
  DECIDERS,
  type Decider,
  openSide,
  type Round,
  type Side,
  type SideOptions,
} from '../many-clusters/side.ts';
import { spreadOf } from '../statistics.ts';

const FEW = 10;
const MANY = 1_000;
const OBJECTS = 1_000;
/** As many for each side, so that each of the many clusters has one in each round or two, and each of the few has dozens. */
const ROLL_OUTS = 300;
const PER_SECOND = 10;
const ROUNDS = 3;
const FLAT: Aim = { kind: 'ratio-at-most', limit: 1.2 };

const optionsOf = (clusters: number): SideOptions => ({
  clusters,
  objects: OBJECTS,
  rollOuts: ROLL_OUTS,
  perSecond: PER_SECOND,
});

interface Measured {
  readonly side: Side;
  readonly rounds: Round[];
}

/** What an event costs with ever more clusters on one broker, while their applications are rolled out; and what came of their objects. */
export async function benchClusterMany(): Promise<Findings> {
  await using stack = new AsyncDisposableStack();
  const open = async (clusters: number): Promise<Measured> => {
    say(`cluster-many: ${clusters} clusters`);
    return { side: stack.use(await openSide(optionsOf(clusters))), rounds: [] };
  };
  const [few, many] = [await open(FEW), await open(MANY)];
  for (let round = 0; round <= ROUNDS; round++)
    for (const { side, rounds } of [few, many]) {
      const measured = await side.round();
      say(`cluster-many, round ${round} of ${ROUNDS}: ${JSON.stringify(measured)}`);
      // The first one warms all of them up.
      if (round > 0) rounds.push(measured);
    }
  const accounts = [await accountText(FEW, few.side), await accountText(MANY, many.side)];
  return { figures: figuresOf(few.rounds, many.rounds), notes: [...accounts, ...NOTES] };
}

const NOTES = [
  `Each cluster has about ${OBJECTS} objects on a simulated API server of its own, in the memory of a process of up to 250 clusters, with agent and executor as "fleetgc cluster run" composes them; one broker; graph-gc, pod-gc and expiry-gc as processes. ${ROLL_OUTS} roll-outs a round at ${PER_SECOND} a second over all clusters: a ReplicaSet with five pods and a Secret replaces another one, which goes in the background or in the foreground, or the whole Deployment goes; a Job ends and a pod is evicted.`,
  'Processor time from the beginning of a round until nothing is left over, the same number of roll-outs on both sides, each with a broker and services of its own, in turns. Clusters of a process share one producer, and one reader of the policies, which clusters apart would not.',
];

/** Throws where anything went that should not, stayed that should not, or went twice. */
async function accountText(clusters: number, side: Side): Promise<string> {
  const { objects, removed, dropped, wrong, lost, twice, inVain, examples } = side.account();
  const told = await side.told();
  const text = `${clusters} clusters, ${objects} objects: ${removed} went and ${dropped} lost a reference; ${wrong} wrong, ${lost} lost, ${twice} deleted twice, ${told.twice.length} told twice, ${inVain} deletions in vain`;
  say(text);
  if (wrong + lost + twice + told.twice.length === 0) return `${text}.`;
  throw new Error(`${text}: ${[...examples, ...told.twice].slice(0, 10).join('; ')}`);
}

function figuresOf(few: readonly Round[], many: readonly Round[]): readonly Figure[] {
  const figure = (name: string, unit: string, value: (round: Round) => number, aim: Aim | null): Figure => ({
    benchmark: 'cluster-many',
    name: `${MANY} clusters: ${name}`,
    unit,
    value: spreadOf(many.map(value)),
    baseline: spreadOf(few.map(value)),
    baselineName: `${FEW} clusters`,
    samples: ROUNDS,
    aim,
  });
  return [
    figure('processor time of the decision services for each fact', 'ms', perFact, FLAT),
    ...DECIDERS.map((name) => figure(`${name}, for each fact`, 'ms', perFactOf(name), null)),
    figure('the decision services, for each object that goes', 'ms', perObject(decidersCpu), FLAT),
    figure(
      'the broker, for each object that goes',
      'ms',
      perObject(({ cpuMs }) => cpuMs.broker),
      null,
    ),
    figure(
      'agents, executors and simulated API servers, for each object that goes',
      'ms',
      perObject(({ cpuMs }) => cpuMs.clusters),
      null,
    ),
    figure('facts for each object that goes', 'facts', perObject(allFacts), null),
    figure(
      'bytes on the log for each object that goes',
      'bytes',
      perObject(({ bytes }) => bytes),
      null,
    ),
    figure('objects that go', 'a second', ({ removed, seconds }) => removed / seconds, null),
  ];
}

const decidersCpu = ({ cpuMs }: Round): number => DECIDERS.reduce((sum, name) => sum + cpuMs[name], 0);
const allFacts = ({ facts }: Round): number => DECIDERS.reduce((sum, name) => sum + facts[name], 0);
const perFact = (round: Round): number => decidersCpu(round) / allFacts(round);
const perFactOf =
  (name: Decider) =>
  ({ cpuMs, facts }: Round): number =>
    cpuMs[name] / facts[name];
const perObject =
  (value: (round: Round) => number) =>
  (round: Round): number =>
    value(round) / round.removed;
