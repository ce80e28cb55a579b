import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TopicName } from '../../../schemas/events/topics.ts';
import type { ChaosBroker } from '../broker/broker.ts';
import { Archive } from './archive.ts';
import { type FollowedLog, followLog } from './followed-log.ts';
import { FleetKeys, type SigningRole } from './keys.ts';
import { type MachineClock, machineClock } from './machine-clock.ts';
import { createOperator, type Operator } from './operator.ts';
import { type Part, startPart } from './part.ts';
import type { Shape } from './shape.ts';
import { type UntilDone, untilDone } from './until-done.ts';
import { fleetEnvironment, type RunVerb, verbs } from './verb.ts';

const RESTART_MS = 500;
/** It ends again and again where the state directory is in use. */
const RESTART_OF_DOUBLE_MS = 2_000;

export type RestartHow = 'in-turn' | 'at-once';

/** What runs in every round, whatever is collected. */
export interface Grounds<Policy extends string = string> extends AsyncDisposable {
  readonly broker: ChaosBroker;
  readonly log: FollowedLog;
  readonly operator: Operator<Policy>;
  readonly run: RunVerb;
  readonly untilDone: UntilDone;
  readonly keys: FleetKeys;
  readonly archive: Archive;
  readonly parts: readonly Part[];
  part(name: string): Part;
  clock(machine: string): MachineClock;
  /** Another process of the same part, as two overlapping pods are. */
  double(part: string): Part;
  /** As an operator does who gives them another key: each after the other, or all at once. */
  restartServices(how: RestartHow): Promise<void>;
}

/** What is to run: its name, on which machine, with whose key. */
interface PartToStart {
  readonly name: string;
  readonly command: readonly string[];
  /** That of a replica which runs beside it, where it is another one. */
  readonly replica?: readonly string[];
  readonly machine: string;
  readonly signsAs: SigningRole | null;
}

export interface GroundsSettings<Policy> {
  readonly broker: ChaosBroker;
  /** `bin/fleetgc` of the sources that are tried. */
  readonly program: string;
  readonly directory: string;
  readonly shape: Shape;
  /** What is followed of the log. */
  readonly topics: readonly TopicName[];
  readonly policyFile: (policy: Policy) => object;
  /** Ends what an operator tries again and again. */
  readonly signal: AbortSignal;
}

/** Grounds on which parts can be started; these end first. */
interface EmptyGrounds<Policy extends string> extends Grounds<Policy> {
  startAll(parts: readonly PartToStart[]): void;
}

/** On a broker without topics; resolves when they are there. No part runs yet, and no statement about keys is there. */
export async function prepareGrounds<Policy extends string>({
  broker,
  program,
  directory,
  shape,
  topics,
  policyFile,
  signal,
}: GroundsSettings<Policy>): Promise<EmptyGrounds<Policy>> {
  await using starting = new AsyncDisposableStack();
  const stack = starting.use(new AsyncDisposableStack());
  const stopped = new AbortController();
  const keys = new FleetKeys(directory);
  const environmentOf = (role: SigningRole | null): Readonly<Record<string, string>> =>
    fleetEnvironment(broker.address, keys.paths(role));
  const run = verbs(program, environmentOf('operator'));
  stack.defer(() => stopped.abort());
  const either = AbortSignal.any([stopped.signal, signal]);
  const publish = untilDone(run, either);
  const operator = createOperator({ untilDone: publish, policyFile, keys, signal: either });
  await operator.createTopics();
  const log = stack.use(await followLog(broker.address, topics));
  const clocks = new Map(
    await Promise.all(
      shape.machines.map(async (machine) => [machine, await machineClock(machine, directory)] as const),
    ),
  );
  const archive = stack.use(new Archive({ directory, program, environment: environmentOf('archiver') }));
  const clock = (machine: string): MachineClock => {
    const found = clocks.get(machine);
    if (found) return found;
    throw new Error(`there is no machine ${machine}`);
  };
  const logs = join(directory, 'logs');
  mkdirSync(logs);
  const known = new Map<string, PartToStart>();
  const start = (toStart: PartToStart, restartMs = RESTART_MS): Part => {
    const { name, command, machine, signsAs } = toStart;
    known.set(name, toStart);
    const logPath = join(logs, `${name.replace('/', '-')}.log`);
    const environment = { ...environmentOf(signsAs), ...clock(machine).environment };
    return stack.use(startPart({ name, command, environment, restartMs, logPath }));
  };
  const parts: Part[] = [];
  // What ends by itself keeps what it compiled for the next round.
  const endAll = async (): Promise<void> =>
    void (await Promise.all(parts.map((part) => part[Symbol.asyncDispose]())));
  starting.move();
  return {
    broker,
    log,
    run,
    untilDone: publish,
    keys,
    archive,
    operator,
    parts,
    part: (name) => named(parts, name),
    clock,
    startAll: (toStart) => void parts.push(...toStart.map((one) => start(one))),
    double: (name) => {
      const one = known.get(name);
      if (one)
        return start(
          { ...one, name: `${name}-2`, command: one.replica ?? one.command },
          RESTART_OF_DOUBLE_MS,
        );
      throw new Error(`there is no ${name}`);
    },
    restartServices: (how) =>
      restarted(
        parts.filter(({ name }) => name in shape.services),
        how,
      ),
    [Symbol.asyncDispose]: async () => {
      await endAll();
      await stack.disposeAsync();
    },
  };
}

async function restarted(parts: readonly Part[], how: RestartHow): Promise<void> {
  const restart = async (part: Part): Promise<void> => {
    await part.hold();
    part.release();
  };
  if (how === 'at-once') await Promise.all(parts.map(restart));
  else for (const part of parts) await restart(part);
}

export function named<T extends { readonly name: string }>(all: readonly T[], name: string): T {
  const found = all.find((one) => one.name === name);
  if (found) return found;
  throw new Error(`there is no ${name}; there are ${all.map((one) => one.name).join(', ')}`);
}
