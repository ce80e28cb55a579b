import { decide as decideContainers } from '../../../packages/deciders/container-gc/decide.ts';
import { decide as decideImages } from '../../../packages/deciders/image-gc/decide.ts';
import { parseValue } from '../../../packages/records/parse/parse-record.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { keepList, policy } from '../../../test/fixtures/policy.ts';
import { say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { spreadOf } from '../statistics.ts';
import { nodeOfContainers, nodeOfImages } from './decide/listed-nodes.ts';
import { answering, plainContainers, plainImages } from './decide/plain-loops.ts';

const WARM_UP_ROUNDS = 20;
const ROUNDS = 30;
/** How many objects are decided on in a round, in as many inventories as it takes. */
const OBJECTS_OF_ROUND = 20_000;

type Work<Given> = (inventory: CompleteInventory, policy: Policy) => Given;

/** A decision and what it is held against. */
interface Contest {
  readonly name: string;
  readonly node: CompleteInventory;
  readonly decide: Work<{ readonly items: readonly { readonly id: string }[] }>;
  readonly plain: Work<readonly string[]>;
  /** The plain loop that answers for each object too. */
  readonly answering: Work<unknown>;
}

const images = (count: number): Contest => ({
  name: `decide for images, ${count} images`,
  node: nodeOfImages(count),
  decide: decideImages,
  plain: plainImages,
  answering: answering(plainImages, 'images'),
});

const containers = (count: number): Contest => ({
  name: `decide for containers, ${count} containers`,
  node: nodeOfContainers(count),
  decide: decideContainers,
  plain: plainContainers,
  answering: answering(plainContainers, 'containers'),
});

/** The decisions themselves beside the least that a loop can do with the same facts, in one process and in turns. */
export function benchDecide(): Findings {
  return {
    figures: [
      ...[images(200), images(2000), containers(350), containers(3500)].flatMap(figuresOf),
      figureOfPatterns(),
    ],
    notes: [
      'Processor time of one decision on an inventory that was just parsed, without parsing it and without what is written of the decision.',
      'The plain loop leaves out what is in use, sorts by age, and adds up; it gives the ids of what goes, the same as the decision. The decision says of every object why it goes or stays, and doubts what it is told.',
      '"that answers": the same loop, which looks besides whether an id is listed twice, and makes a verdict with one fact for every object; it decides no more.',
    ],
  };
}

/** As many as people write, of the kinds that they write. */
const PATTERNS = Array.from({ length: 50 }, (_, index) => [
  `**/base-${index}/**`,
  `registry.example/team-${index}/*`,
  `*/pause-${index}:*`,
  `registry.example/**/app-${index}:v*-prod`,
]).flat();

/** What a keep list costs: before there was one automaton for a list it was more than 300 times as much. */
function figureOfPatterns(): Figure {
  const name = 'decide for images, 2000 images, 200 patterns';
  say(name);
  const text = JSON.stringify(nodeOfImages(2000));
  const [without, keeping] = [policy(), policy({ keep: keepList({ patterns: PATTERNS }) })];
  const inventories = OBJECTS_OF_ROUND / 2000;
  const average = (inForce: Policy): number =>
    Array.from({ length: inventories }, () => cpuUs(decideImages, parsed(text), inForce)).reduce(
      (sum, each) => sum + each,
      0,
    ) / inventories;
  const rounds = Array.from({ length: WARM_UP_ROUNDS + ROUNDS }, () => ({
    kept: average(keeping),
    plain: average(without),
  })).slice(WARM_UP_ROUNDS);
  return {
    benchmark: 'decide',
    name,
    unit: 'µs',
    value: spreadOf(rounds.map(({ kept }) => kept)),
    samples: ROUNDS * inventories,
    baseline: spreadOf(rounds.map(({ plain }) => plain)),
    baselineName: 'the same without patterns',
    aim: { kind: 'ratio-at-most', limit: 15 },
  };
}

function figuresOf(contest: Contest): readonly Figure[] {
  const { name, node } = contest;
  const inForce = policy();
  requireSame(contest, inForce);
  say(name);
  const text = JSON.stringify(node);
  const inventories = Math.round(OBJECTS_OF_ROUND / Math.max(node.images.length, node.containers.length));
  const rounds = Array.from({ length: WARM_UP_ROUNDS + ROUNDS }, () =>
    roundOf(contest, inForce, { text, inventories }),
  ).slice(WARM_UP_ROUNDS);
  const common = {
    benchmark: 'decide',
    name,
    unit: 'µs',
    value: spreadOf(rounds.map(({ decided }) => decided)),
    samples: ROUNDS * inventories,
  } as const;
  return [
    {
      ...common,
      baseline: spreadOf(rounds.map(({ looped }) => looped)),
      baselineName: 'plain loop',
      aim: { kind: 'ratio-at-most', limit: 3 },
    },
    {
      ...common,
      baseline: spreadOf(rounds.map(({ answered }) => answered)),
      baselineName: 'plain loop that answers',
      aim: null,
    },
  ];
}

/** Microseconds of one, on average. */
function roundOf(
  { decide, plain, answering }: Contest,
  inForce: Policy,
  { text, inventories }: { readonly text: string; readonly inventories: number },
) {
  let [decided, looped, answered] = [0, 0, 0];
  for (let done = 0; done < inventories; done += 1) {
    decided += cpuUs(decide, parsed(text), inForce);
    looped += cpuUs(plain, parsed(text), inForce);
    answered += cpuUs(answering, parsed(text), inForce);
  }
  return {
    decided: decided / inventories,
    looped: looped / inventories,
    answered: answered / inventories,
  };
}

/** Each inventory is decided on once, as in a service: a text that was asked for before is quicker to find. */
function parsed(text: string): CompleteInventory {
  const inventory = parseValue('inventory', JSON.parse(text));
  if (!inventory.ok || inventory.event.status !== 'complete') throw new Error('not an inventory');
  return inventory.event;
}

function cpuUs<Given>(work: Work<Given>, inventory: CompleteInventory, inForce: Policy): number {
  const before = process.cpuUsage();
  work(inventory, inForce);
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function requireSame({ name, node, decide, plain }: Contest, inForce: Policy): void {
  const [ours, plainly] = [decide(node, inForce).items.map(({ id }) => id), plain(node, inForce)];
  if (ours.length > 0 && JSON.stringify(ours) === JSON.stringify(plainly)) return;
  throw new Error(`${name}: the loop does not select what the decision does`);
}
