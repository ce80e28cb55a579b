/**
 * So many simulated clusters in one process, each with an API server of its own in memory, an agent and an executor. Each SIGUSR2
 * begins a round of roll-outs; when nothing is left over, or after a long time, it says what came of it.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { KafkaOptions } from '../../../packages/log/kafka/client/options.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';
import { openServiceProcess } from '../../../packages/service/service-process.ts';
import { logContext } from '../context.ts';
import { HostedCluster } from '../many-clusters/hosted-cluster.ts';
import type { ScriptArguments } from './arguments.ts';

const [, , argument = ''] = process.argv;
const {
  brokers,
  clusters: count,
  objects,
  rollOuts,
  perSecond,
}: ScriptArguments['many-clusters'] = JSON.parse(argument);
const BEGUN_AT_ONCE = 10;
const LOOK_MS = 500;
const LONGEST_ROUND_MS = 180_000;
const SHOWN = 5;

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const sum = (value: (cluster: HostedCluster) => number): number =>
  clusters.reduce((total, each) => total + value(each), 0);

const clusters = Array.from({ length: count }, (_, index) => new HostedCluster(index, objects));
const stop = new AbortController();
await using service = await openServiceProcess({
  build: { service: 'many-clusters', version: '0' },
  eventLog: KafkaOptions.parse({ kind: 'kafka', brokers, clientId: 'many-clusters', replicationFactor: 1 }),
  trust: { kind: 'off' },
  httpAddress: null,
  logger: logContext.logger,
  sources: systemSources,
});
const policies = service.followPolicies(null);
await policies.caughtUp;

const running: Promise<void>[] = [];
async function begin(cluster: HostedCluster): Promise<void> {
  running.push(
    cluster.run({ process: service, policies }, stop.signal).catch((error: unknown) => {
      say(`${cluster.name} failed: ${error instanceof Error ? error.stack : error}`);
      process.exitCode = 1;
    }),
  );
  while (cluster.problem() !== null && !stop.signal.aborted) await sleep(LOOK_MS / 5);
}

let rounds = 0;
let next = 0;
async function round(): Promise<void> {
  const startMs = performance.now();
  for (let number = 0; number < rollOuts; number++) {
    await sleep(Math.max(0, startMs + (number * 1000) / perSecond - performance.now()));
    clusters[next++ % clusters.length]?.rolling.rollOut();
  }
  const left = await untilNothingIsLeft(startMs + LONGEST_ROUND_MS);
  rounds++;
  const told = {
    round: rounds,
    objects: sum(({ truth }) => truth.objects),
    removed: sum(({ truth }) => truth.removed),
    dropped: sum(({ truth }) => truth.dropped),
    wrong: sum(({ truth }) => truth.wrong),
    lost: left.length,
    twice: sum(({ twice }) => twice),
    inVain: sum(({ inVain }) => inVain),
    examples: [...clusters.flatMap(({ truth }) => truth.wrongs), ...left].slice(0, SHOWN),
  };
  say(JSON.stringify(told));
}

async function untilNothingIsLeft(deadlineMs: number): Promise<readonly string[]> {
  let busy: readonly HostedCluster[] = clusters;
  while (performance.now() < deadlineMs) {
    busy = busy.filter(({ truth }) => truth.leftOver().length > 0);
    if (busy.length === 0) return [];
    await sleep(LOOK_MS);
  }
  return busy.flatMap(({ name, truth }) => truth.leftOver().map((words) => `${name}: ${words}`));
}

process.on('SIGUSR2', () => {
  void round().catch((error: unknown) =>
    say(`the round failed: ${error instanceof Error ? error.stack : error}`),
  );
});
const ended = Promise.withResolvers<void>();
process.once('SIGTERM', () => ended.resolve());

// Its parent waits for this as for any script; the clusters take longer.
say('ready');
const inTurn = pLimit(BEGUN_AT_ONCE);
await Promise.all(clusters.map((cluster) => inTurn(() => begin(cluster))));
say(`${count} clusters are followed`);
await ended.promise;
stop.abort();
await Promise.all(running);
