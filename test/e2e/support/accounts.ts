import { expect } from 'vitest';
import type { Command } from '../../../schemas/events/command.ts';
import { type NodeIdentity, nodeKey } from '../../../schemas/events/identity.ts';
import type { ObjectResult } from '../../../schemas/events/result.ts';
import type { PushedImage } from '../../support/nodes/registry.ts';
import type { FleetLog, Seen } from './fleet/fleet-log.ts';
import type { FleetNode } from './fleet/fleet-node.ts';

const SETTLED_MS = 30_000;

type About = Pick<NodeIdentity, 'cluster' | 'node'>;

/** What is on the log about one node. An event that lies there twice counts once. */
export interface Account {
  readonly commands: readonly Command[];
  readonly objectResults: readonly ObjectResult[];
  /** Ids of images that the executor says it removed, in order. */
  readonly removed: readonly string[];
  /** Ids of commands with a result of their own. */
  readonly answered: readonly string[];
}

export function accountOf(log: FleetLog, { cluster, name }: Pick<FleetNode, 'cluster' | 'name'>): Account {
  const here = (event: About): boolean => nodeKey(event) === nodeKey({ cluster, node: name });
  const results = unique(log.events('results').filter(here));
  const objectResults = results.filter((event) => event.type === 'fleetgc.node.object-result');
  return {
    commands: unique(log.events('commands').filter(here)),
    objectResults,
    removed: objectResults
      .filter(({ result }) => result.outcome === 'removed')
      .map(({ object }) => object.id),
    answered: results.flatMap((event) =>
      event.type === 'fleetgc.node.command-result' ? [event.commandId] : [],
    ),
  };
}

/** Waits until each of the node's commands has its result. */
export const settledAccount = (log: FleetLog, node: Pick<FleetNode, 'cluster' | 'name'>): Promise<Account> =>
  log.until(`a result of every command for ${node.cluster}/${node.name}`, SETTLED_MS, () => {
    const account = accountOf(log, node);
    return account.commands.every(({ id }) => account.answered.includes(id)) && account;
  });

/** Those of the images that the node no longer has. */
export async function goneFrom(
  node: FleetNode,
  pulled: readonly PushedImage[],
): Promise<readonly PushedImage[]> {
  const left = await node.imageIds();
  return pulled.filter(({ id }) => !left.includes(id));
}

/** What the node says it removed is what is gone of the images, each once, and something is; resolves to the ids, sorted. */
export async function expectRemovedIsGone(
  log: FleetLog,
  node: FleetNode,
  pulled: readonly PushedImage[],
): Promise<readonly string[]> {
  const { removed } = await settledAccount(log, node);
  const gone = (await goneFrom(node, pulled)).map(({ id }) => id).toSorted();
  expect(gone.length).toBeGreaterThan(0);
  expect(removed.toSorted()).toEqual(gone);
  return gone;
}

const unique = <Event extends { readonly id: string }>(events: readonly Event[]): readonly Event[] => [
  ...new Map(events.map((event) => [event.id, event])).values(),
];

type Decider = 'pressure' | 'container-gc' | 'image-gc';
const DECIDERS = { diskStats: ['pressure'], inventory: ['container-gc', 'image-gc'] } as const;

/** Facts that a decider has not decided on, as `decider topic/partition/offset`. */
export function undecided(log: FleetLog): readonly string[] {
  const decided = new Set(
    log
      .events('decisions')
      .flatMap((event) =>
        event.type === 'fleetgc.node.decision' ? [placeOf(event.decider.name, event.input)] : [],
      ),
  );
  return [...factsOf(log, 'diskStats'), ...factsOf(log, 'inventory')].filter((place) => !decided.has(place));
}

const factsOf = (log: FleetLog, topic: keyof typeof DECIDERS): readonly string[] =>
  log.seen(topic).flatMap(({ record }: Seen) => DECIDERS[topic].map((decider) => placeOf(decider, record)));

interface Place {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string | bigint;
}

const placeOf = (decider: Decider, { topic, partition, offset }: Place): string =>
  `${decider} ${topic}/${partition}/${offset}`;
