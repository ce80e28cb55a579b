import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChaosBroker } from '../broker/broker.ts';
import { Archive } from './archive.ts';
import { type FollowedLog, followLog } from './followed-log.ts';
import type { ImageSource } from './image-source.ts';
import { FleetKeys } from './keys.ts';
import { type MachineClock, machineClock } from './machine-clock.ts';
import { type FleetNode, startNode } from './node.ts';
import { createOperator, type Operator } from './operator.ts';
import { type Part, startPart } from './part.ts';
import { MACHINES, NODE_PARTS, SERVICES } from './shape.ts';
import { type UntilDone, untilDone } from './until-done.ts';
import { fleetEnvironment, type RunVerb, verbs } from './verb.ts';

const RESTART_MS = 500;
/** It ends again and again, since the state directory is in use. */
const RESTART_OF_DOUBLE_MS = 2_000;
const LIFE_STEP_MS = 300;
/** So many steps without a pause fill a good part of a disk, while the parts start. */
const HEAD_START_STEPS = 22;
/** Real pods take their time. */
const HEAD_START_STEPS_ON_CONTAINERD = 12;

/** Everything that runs in a round. */
export interface Fleet extends AsyncDisposable {
  readonly broker: ChaosBroker;
  readonly log: FollowedLog;
  readonly operator: Operator;
  readonly run: RunVerb;
  readonly untilDone: UntilDone;
  readonly keys: FleetKeys;
  readonly archive: Archive;
  node(name: string): FleetNode;
  part(name: string): Part;
  readonly nodes: readonly FleetNode[];
  readonly parts: readonly Part[];
  clock(machine: string): MachineClock;
  /** Another process of the same part, as two overlapping pods are. */
  double(part: string): Part;
  /** As after a power failure: each part of the node ends at once, and finds another boot id. */
  reboot(node: string): void;
  /** As an operator does who gives them another key: each after the other, or all at once. */
  restartServices(how: RestartHow): Promise<void>;
}

export type RestartHow = 'in-turn' | 'at-once';

export interface FleetSettings {
  /** Of the lives of the nodes. */
  readonly seed: number;
  /** The parts start so long before any statement about keys is there. */
  readonly statementsLateMs: number;
  readonly broker: ChaosBroker;
  /** `bin/fleetgc` of the sources that are tried. */
  readonly program: string;
  readonly directory: string;
  /** Where real runtimes pull from; `null`: runtimes are made up. */
  readonly images: ImageSource | null;
  /** Ends what an operator tries again and again. */
  readonly signal: AbortSignal;
}

/** Starts all of it on a broker without topics. Nodes live from the start; the usual policy comes while the parts start. */
export async function startFleet({
  seed,
  statementsLateMs,
  broker,
  program,
  directory,
  images,
  signal,
}: FleetSettings): Promise<Fleet> {
  await using starting = new AsyncDisposableStack();
  const stack = starting.use(new AsyncDisposableStack());
  const stopped = new AbortController();
  const keys = new FleetKeys(directory);
  const environments = {
    operator: fleetEnvironment(broker.address, keys.paths('operator')),
    services: fleetEnvironment(broker.address, keys.paths('decider')),
    archiver: fleetEnvironment(broker.address, keys.paths('archiver')),
    nodes: fleetEnvironment(broker.address, keys.paths(null)),
  };
  const run = verbs(program, environments.operator);
  stack.defer(() => stopped.abort());
  const either = AbortSignal.any([stopped.signal, signal]);
  const publish = untilDone(run, either);
  const operator = createOperator({ untilDone: publish, keys, signal: either });
  const [nodes] = await Promise.all([
    Promise.all(
      Object.keys(NODE_PARTS).map(async (name, index) => {
        const node = stack.use(await startNode({ name, parent: directory, images }));
        node.tell({
          kind: 'live',
          seed: seed + index,
          stepMs: LIFE_STEP_MS,
          headStart: images === null ? HEAD_START_STEPS : HEAD_START_STEPS_ON_CONTAINERD,
        });
        return node;
      }),
    ),
    operator.createTopics(),
  ]);
  const log = stack.use(await followLog(broker.address));
  const clocks = new Map(
    await Promise.all(
      MACHINES.map(async (machine) => [machine, await machineClock(machine, directory)] as const),
    ),
  );
  const logs = join(directory, 'logs');
  mkdirSync(logs);
  const commands = new Map<string, readonly string[]>();
  const start = (name: string, command: readonly string[], restartMs = RESTART_MS): Part => {
    commands.set(name, command);
    const logPath = join(logs, `${name.replace('/', '-')}.log`);
    const ofNode = clocks.get(name.split('/')[0] ?? '');
    const environment = {
      ...(ofNode ? environments.nodes : environments.services),
      ...(ofNode ?? clocks.get('services'))?.environment,
    };
    return stack.use(startPart({ name, command, environment, restartMs, logPath }));
  };
  const parts = [
    ...Object.entries(SERVICES).map(([name, verb]) => start(name, [program, verb, '--http-address=none'])),
    ...nodes.flatMap((node) =>
      (NODE_PARTS[node.name] ?? []).map((verb) =>
        start(`${node.name}/${verb}`, nodeCommand(program, verb, node)),
      ),
    ),
  ];
  // What ends by itself keeps what it compiled for the next round.
  stack.defer(async () => void (await Promise.all(parts.map((part) => part[Symbol.asyncDispose]()))));
  const archive = stack.use(new Archive({ directory, program, environment: environments.archiver }));
  await sleep(statementsLateMs, undefined, { signal });
  await keys.publishAll(publish);
  await operator.apply('usual');
  starting.move();
  return {
    broker,
    log,
    run,
    untilDone: publish,
    keys,
    archive,
    nodes,
    parts,
    operator,
    node: (name) => named(nodes, name),
    part: (name) => named(parts, name),
    clock: (machine) => {
      const clock = clocks.get(machine);
      if (clock) return clock;
      throw new Error(`there is no machine ${machine}`);
    },
    double: (name) => start(`${name}-2`, commands.get(name) ?? [], RESTART_OF_DOUBLE_MS),
    restartServices: (how) =>
      restarted(
        parts.filter(({ name }) => name in SERVICES),
        how,
      ),
    reboot: (name) => {
      writeFileSync(named(nodes, name).bootIdFile, `${randomUUID()}\n`);
      for (const part of parts) if (part.name.startsWith(`${name}/`)) part.kill();
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
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

/** The parts of a node see a boot id of their own: a file that lies over the kernel's in their view of the filesystem. */
function nodeCommand(program: string, verb: string, node: FleetNode): readonly string[] {
  const script = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"';
  const own = ['unshare', '--mount', '--propagation', 'slave', 'sh', '-c', script, node.bootIdFile];
  return [...own, program, verb, ...node.options, '--http-address=none'];
}

function named<T extends { readonly name: string }>(all: readonly T[], name: string): T {
  const found = all.find((one) => one.name === name);
  if (found) return found;
  throw new Error(`there is no ${name}; there are ${all.map((one) => one.name).join(', ')}`);
}
