import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeOutput } from '../../packages/decision/handler.ts';
import { openEventLog } from '../../packages/log/open.ts';
import { logContext, recordOf } from '../bench/context.ts';
import { fullNode } from '../bench/inventories.ts';
import { type BenchKafka, startKafka } from '../bench/kafka.ts';
import { FleetKeys } from '../chaos/fleet/keys.ts';
import { type FleetNode, startNode } from '../chaos/fleet/node.ts';
import { type Part, startPart } from '../chaos/fleet/part.ts';
import { policyFile } from '../chaos/fleet/policies.ts';
import { untilDone } from '../chaos/fleet/until-done.ts';
import { fleetEnvironment, verbs } from '../chaos/fleet/verb.ts';

/** A process that is looked at. */
export interface SoakPart {
  readonly part: Part;
  readonly heapFile: string;
  readonly logPath: string;
  /** Where a node keeps its state; `null` of what keeps none. */
  readonly stateDirectory: string | null;
  /** Of the process that has an event log in a file. */
  readonly databasePath: string | null;
}

export interface SoakFleet extends AsyncDisposable {
  readonly kafka: BenchKafka;
  readonly port: number;
  readonly parts: readonly SoakPart[];
  readonly nodes: readonly string[];
}

interface SoakFleetSettings {
  readonly program: string;
  readonly directory: string;
  readonly nodes: number;
  readonly stepMs: number;
  readonly strangers: number;
  readonly signal: AbortSignal;
}

/** By itself one process decides for whatever it is given; so each service is one. */
const SERVICES = ['pressure', 'container-gc', 'image-gc'] as const;
const HEAD_START_STEPS = 22;
const RESTART_MS = 500;
const STRANGERS_EVERY_MS = 2_000;
/** The smallest there is, so that it is full soon. */
const LOG_BYTES = 16 * 1024 * 1024;
/** Of these inventories, with a hundred kilobytes each, so many times so many. */
const AT_ONCE = 10;
const TIMES = 14;
const LARGE_NODE = { images: 200, containers: 30 } as const;
const HEAP_HOOK = new URL('report-heap.ts', import.meta.url).href;

export async function startSoakFleet(settings: SoakFleetSettings): Promise<SoakFleet> {
  const { program, directory, stepMs, strangers, signal } = settings;
  await using starting = new AsyncDisposableStack();
  const kafka = starting.use(await startKafka());
  const [address = ''] = kafka.options.brokers;
  const keys = new FleetKeys(directory);
  const publish = untilDone(verbs(program, fleetEnvironment(address, keys.paths('operator'))), signal);
  await keys.publishAll(publish);
  const policy = join(directory, 'policy.yaml');
  writeFileSync(policy, JSON.stringify(policyFile('usual')));
  await publish(['policy', 'apply', policy]);
  const start = (given: Starting): SoakPart => {
    const started = startSoakPart(directory, given);
    starting.use(started.part);
    return started;
  };
  const services = SERVICES.map((name) =>
    start({ name, command: [program, name], environment: fleetEnvironment(address, keys.paths('decider')) }),
  );
  const names = Array.from({ length: settings.nodes }, (_, index) => `node-${index + 1}`);
  const nodes: SoakPart[] = [];
  for (const [seed, name] of names.entries()) {
    const node = starting.use(await livelyNode({ name, directory, seed, stepMs, strangers }));
    const command = [program, 'node', ...node.options];
    const environment = fleetEnvironment(address, keys.paths(null));
    nodes.push(start({ name, command, environment, stateDirectory: node.stateDirectory }));
  }
  const alone = starting.use(
    await livelyNode({ name: 'alone', directory, seed: names.length, stepMs, strangers }),
  );
  const databasePath = join(directory, 'event-log.db');
  await fill(databasePath);
  const log = [`--log-path=${databasePath}`, `--log-max-size=${LOG_BYTES}`];
  const run = start({
    name: 'run',
    command: [program, 'run', `--policy=${policy}`, ...alone.options, ...log],
    environment: { PATH: process.env.PATH ?? '' },
    stateDirectory: alone.stateDirectory,
    databasePath,
  });
  const owned = starting.move();
  return {
    kafka,
    port: Number(address.slice(address.lastIndexOf(':') + 1)),
    parts: [...services, ...nodes, run],
    nodes: names,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

interface Starting {
  readonly name: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly stateDirectory?: string;
  readonly databasePath?: string;
}

function startSoakPart(
  directory: string,
  { name, command, environment, stateDirectory = '', databasePath = '' }: Starting,
): SoakPart {
  const logs = join(directory, 'logs');
  mkdirSync(logs, { recursive: true });
  const heapFile = join(directory, `${name}.heap`);
  const logPath = join(logs, `${name}.log`);
  const hooked = { ...environment, NODE_OPTIONS: `--import=${HEAP_HOOK}`, SOAK_HEAP_FILE: heapFile };
  const part = startPart({
    name,
    command: [...command, '--http-address=none'],
    environment: hooked,
    restartMs: RESTART_MS,
    logPath,
  });
  return {
    part,
    heapFile,
    logPath,
    stateDirectory: stateDirectory || null,
    databasePath: databasePath || null,
  };
}

interface Life {
  readonly name: string;
  readonly directory: string;
  readonly seed: number;
  readonly stepMs: number;
  readonly strangers: number;
}

async function livelyNode({ name, directory, seed, stepMs, strangers }: Life): Promise<FleetNode> {
  const node = await startNode({ name, parent: directory, images: null });
  node.tell({ kind: 'live', seed, stepMs, headStart: HEAD_START_STEPS });
  if (strangers > 0) node.tell({ kind: 'strangers', images: strangers, everyMs: STRANGERS_EVERY_MS });
  return node;
}

/** Nearly all the room that the log may take: what comes then pushes out what is old. */
async function fill(path: string): Promise<void> {
  await using log = await openEventLog({ kind: 'embedded', path, maxBytes: LOG_BYTES }, logContext);
  await log.createTopics();
  const one = (): ReturnType<typeof recordOf> =>
    recordOf(nodeOutput('inventory', { ...fullNode('before', LARGE_NODE), id: randomUUID() }));
  for (let time = 0; time < TIMES; time += 1) await log.publish(Array.from({ length: AT_ONCE }, one));
}
