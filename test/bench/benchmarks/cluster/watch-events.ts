import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { ServerClock } from '../../../../packages/kube-api/server-clock.ts';
import type { ResourceKind } from '../../../../packages/owner-graph/kinds.ts';
import { linesOf } from '../../../../packages/process/lines.ts';
import { ExpiryWatch } from '../../../../services/cluster/agent/expiry.ts';
import { ClusterGraph } from '../../../../services/cluster/agent/graph.ts';
import { PodWatch } from '../../../../services/cluster/agent/pods.ts';
import { everySink, type ReflectorSink, reflect } from '../../../../services/cluster/agent/reflector.ts';
import { say } from '../../context.ts';
import type { Figure } from '../../figure.ts';
import { spreadOf } from '../../statistics.ts';
import { DISCOVERED, deployment, pod, replicaSet } from './made-objects.ts';

const OBJECTS = 4_000;
/** How often each of them changes between its first event and its last. */
const CHANGES = 3;
const EVENTS = OBJECTS * (CHANGES + 2);
const WARM_UP_ROUNDS = 2;
const ROUNDS = 8;
/** As an API server writes them. */
const CHUNK_BYTES = 32 * 1024;
const MAX_LINE_BYTES = 16 * 1024 * 1024;

interface Stream {
  readonly name: string;
  readonly resource: string;
  /** What a watch of it tells. */
  readonly chunks: readonly Buffer[];
  /** What is known before it begins. */
  readonly owners: { readonly resource: string; readonly objects: readonly unknown[] };
}

/** Events of watches on one core: parsed, taken into the owner graph and looked at, beside the same lines parsed. */
export async function watchEventFigures(): Promise<readonly Figure[]> {
  const numbers = Array.from({ length: OBJECTS }, (_, number) => number);
  const ofReplicaSets = {
    name: 'ReplicaSets, metadata alone',
    resource: 'replicasets',
    chunks: chunksOf(replicaSet),
    owners: { resource: 'deployments', objects: numbers.map((number) => deployment(number, 1)) },
  };
  const ofPods = {
    name: 'Pods, whole',
    resource: 'pods',
    chunks: chunksOf(pod),
    owners: { resource: 'replicasets', objects: numbers.map((number) => replicaSet(number, 1)) },
  };
  return [await figureOf(ofReplicaSets), await figureOf(ofPods)];
}

/** Each object comes, changes and goes; many of them at a time. */
function chunksOf(made: (number: number, version: number) => unknown): readonly Buffer[] {
  const types = ['ADDED', ...Array.from({ length: CHANGES }, () => 'MODIFIED'), 'DELETED'];
  let version = OBJECTS;
  const lines = types.flatMap((type) =>
    Array.from({ length: OBJECTS }, (_, number) => {
      version += 1;
      return `${JSON.stringify({ type, object: made(number, version) })}\n`;
    }),
  );
  const all = Buffer.from(lines.join(''));
  return Array.from({ length: Math.ceil(all.length / CHUNK_BYTES) }, (_, at) =>
    all.subarray(at * CHUNK_BYTES, (at + 1) * CHUNK_BYTES),
  );
}

async function figureOf(stream: Stream): Promise<Figure> {
  say(`cluster-parts: watch of ${stream.name}`);
  const [agents, parsers]: [number[], number[]] = [[], []];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
    const parser = await perSecond(() => parseLines(stream));
    const agent = await perSecond(await agentOf(stream));
    if (round < WARM_UP_ROUNDS) continue;
    parsers.push(parser);
    agents.push(agent);
  }
  return {
    benchmark: 'cluster-parts',
    name: `events of a watch, ${stream.name}: a second of processor time`,
    unit: 'events/s',
    value: spreadOf(agents),
    baseline: spreadOf(parsers),
    baselineName: 'JSON.parse of the same lines',
    samples: ROUNDS * EVENTS,
    aim: { kind: 'ratio-at-least', limit: 0.5 },
  };
}

async function perSecond(work: () => Promise<number>): Promise<number> {
  const before = process.cpuUsage();
  const events = await work();
  const { user, system } = process.cpuUsage(before);
  if (events !== EVENTS) throw new Error(`${events} events were read of ${EVENTS}`);
  return (events * 1e6) / (user + system);
}

async function parseLines({ chunks }: Stream): Promise<number> {
  let events = 0;
  for await (const line of linesOf(bodyOf(chunks), MAX_LINE_BYTES)) {
    const { type }: { readonly type: string } = JSON.parse(line.toString('utf8'));
    if (type !== 'ERROR') events += 1;
  }
  return events;
}

async function* bodyOf(chunks: readonly Buffer[], after: () => void = () => undefined) {
  for (const chunk of chunks) {
    yield chunk;
    after();
  }
}

/** All that an agent does with events, from the bytes to the candidates that it would publish. */
async function agentOf({ resource, chunks, owners }: Stream): Promise<() => Promise<number>> {
  const graph = new ClusterGraph({
    nowMs: () => performance.now(),
    onWork: () => undefined,
    onDefinition: () => undefined,
    onUnreadable: () => undefined,
    clusterInstance: null,
    onWentBack: () => undefined,
  });
  const watch = new PodWatch({ isKeptNamespace: () => false, nowMs: () => performance.now() });
  let events = 0;
  const counting: ReflectorSink = { ...IGNORING, put: () => void events++, gone: () => void events++ };
  const sink = everySink([
    graph,
    ...new ExpiryWatch(graph, () => null).sinks,
    watch.pods,
    watch.nodes,
    counting,
  ]);
  const { added } = graph.kinds.update(DISCOVERED);
  const kindOf = (name: string): ResourceKind => {
    const kind = added.find((each) => each.resource === name);
    if (kind === undefined) throw new RangeError(`${name} are not discovered`);
    return kind;
  };
  await reflectUntilEnd(kindOf(owners.resource), sink, { items: owners.objects, body: bodyOf([]) });
  const kind = kindOf(resource);
  return async () => {
    // What is told is looked at as soon as it came.
    await reflectUntilEnd(kind, sink, { items: [], body: bodyOf(chunks, () => graph.take()) });
    return events;
  };
}

const IGNORING: ReflectorSink = {
  beginList: () => undefined,
  listed: () => undefined,
  endList: () => undefined,
  watched: () => undefined,
  put: () => undefined,
  gone: () => undefined,
  failed: (_, reason) => {
    throw new Error(reason);
  },
  wentBack: () => undefined,
};

interface Told {
  readonly items: readonly unknown[];
  readonly body: AsyncIterable<Buffer>;
}

/** Lists and watches as the agent does, until the watch has told all. */
async function reflectUntilEnd(
  kind: ResourceKind,
  sink: ReflectorSink,
  { items, body }: Told,
): Promise<void> {
  const ended = new AbortController();
  async function* untilEnd(): AsyncGenerator<Buffer> {
    yield* body;
    ended.abort();
  }
  const connection: ApiConnection = {
    clock: new ServerClock(),
    call: async () => ({
      status: 200,
      headers: {},
      body: JSON.stringify({ metadata: { resourceVersion: '1' }, items }),
    }),
    stream: async () => ({ status: 200, headers: {}, body: untilEnd() }),
    [Symbol.dispose]: () => undefined,
  };
  const options = {
    connection,
    sink,
    sleep: async (_: number, signal?: AbortSignal) => {
      if (signal === undefined || signal.aborted) return;
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    },
    random: Math.random,
    labelsAsked: () => null,
    tellsOfRestore: () => true,
    newestBefore: () => '',
    onWatchEnded: () => undefined,
    inTurn: <Result>(list: () => Promise<Result>) => list(),
  };
  await reflect(kind, options, ended.signal);
}
