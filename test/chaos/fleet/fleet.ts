import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChaosBroker } from '../broker/broker.ts';
import { type FollowedLog, followLog } from './followed-log.ts';
import { createOperator, type Operator } from './operator.ts';
import { type Part, startPart } from './part.ts';
import { NODE_PARTS, SERVICES } from './shape.ts';
import { type SimulatedNode, startSimulatedNode } from './simulated-node.ts';
import { type RunVerb, verbEnvironment, verbs } from './verb.ts';

/** Everything that runs in a round. */
export interface Fleet extends AsyncDisposable {
  readonly broker: ChaosBroker;
  readonly log: FollowedLog;
  readonly operator: Operator;
  readonly run: RunVerb;
  node(name: string): SimulatedNode;
  part(name: string): Part;
  readonly nodes: readonly SimulatedNode[];
  readonly parts: readonly Part[];
  /** As after a power failure: each part of the node ends at once, and finds another boot id. */
  reboot(node: string): void;
}

export interface FleetSettings {
  readonly broker: ChaosBroker;
  /** `bin/fleetgc` of the sources that are tried. */
  readonly program: string;
  readonly directory: string;
}

/** Starts all of it on topics that are there, without a policy. */
export async function startFleet({ broker, program, directory }: FleetSettings): Promise<Fleet> {
  await using starting = new AsyncDisposableStack();
  const stopped = new AbortController();
  const run = verbs(program, broker.address);
  const log = starting.use(await followLog(broker.address));
  const nodes = await Promise.all(
    Object.keys(NODE_PARTS).map(async (name) => starting.use(await startSimulatedNode(name, directory))),
  );
  const logs = join(directory, 'logs');
  mkdirSync(logs);
  const start = (name: string, command: readonly string[]): Part => {
    const logPath = join(logs, `${name.replace('/', '-')}.log`);
    return starting.use(startPart({ name, command, environment: verbEnvironment(broker.address), logPath }));
  };
  const parts = [
    ...Object.entries(SERVICES).map(([name, verb]) => start(name, [program, verb, '--http-address=none'])),
    ...nodes.flatMap((node) =>
      (NODE_PARTS[node.name] ?? []).map((verb) =>
        start(`${node.name}/${verb}`, nodeCommand(program, verb, node)),
      ),
    ),
  ];
  starting.defer(() => stopped.abort());
  const owned = starting.move();
  return {
    broker,
    log,
    run,
    nodes,
    parts,
    operator: createOperator(run, stopped.signal),
    node: (name) => named(nodes, name),
    part: (name) => named(parts, name),
    reboot: (name) => {
      writeFileSync(named(nodes, name).bootIdFile, `${randomUUID()}\n`);
      for (const part of parts) if (part.name.startsWith(`${name}/`)) part.kill();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The parts of a node see a boot id of their own: a file that lies over the kernel's in their view of the filesystem. */
function nodeCommand(program: string, verb: string, node: SimulatedNode): readonly string[] {
  const script = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"';
  const own = ['unshare', '--mount', '--propagation', 'slave', 'sh', '-c', script, node.bootIdFile];
  return [...own, program, verb, ...node.options, '--http-address=none'];
}

function named<T extends { readonly name: string }>(all: readonly T[], name: string): T {
  const found = all.find((one) => one.name === name);
  if (found) return found;
  throw new Error(`there is no ${name}; there are ${all.map((one) => one.name).join(', ')}`);
}
