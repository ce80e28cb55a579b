import { once } from 'node:events';
import { createServer } from 'node:http';
import pino from 'pino';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { randomTraceIds } from '../../../packages/process/system-sources.ts';
import type { Tracer } from '../../../packages/process/tracer.ts';
import { decide } from '../../../packages/records/decide.ts';
import { readAlone } from '../../../packages/records/look-ahead.ts';
import { recordMessage } from '../../../packages/records/message-spans.ts';
import { parseBelieved } from '../../../packages/records/parse/parse-believed.ts';
import { createPublisher } from '../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import { openTracer } from '../../../packages/tracing/open-tracer.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { observe } from '../../fixtures/observe.ts';
import { decision } from '../../fixtures/outputs.ts';
import { recordOf } from '../../support/logs/log-record.ts';
import { madeUpPositions } from '../../support/logs/made-up-positions.ts';
import { say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { spreadOf } from '../statistics.ts';

const MESSAGES = 400;
const ROUNDS = 60;
const WARM_UP_ROUNDS = 20;

/** Handles one round of messages; resolves to microseconds of processor time of one. */
type Way = () => Promise<number>;

const record = recordOf(nodeOutput('diskStats', diskStats({}, { id: 'sample' })));
const outputs = [[nodeOutput('decisions', decision())], [nodeOutput('observe', observe())]];

/** The pipeline without the port, with it and nobody who traces, and with a collector. An order follows from each message. */
export async function benchTraces(): Promise<Findings> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  // Each span a second after the one before, so that all are recorded.
  let nowMs = 0;
  const tracer = await openTracer(
    { url: `http://127.0.0.1:${port}/v1/traces`, sampling: { ratio: 1, isParentBased: true } },
    {
      ids: randomTraceIds,
      resource: { 'service.name': 'bench' },
      ofMessages: { 'messaging.system': 'kafka' },
      metrics: createMetrics(),
      logger: pino({ level: 'silent' }),
      monotonicNow: () => (nowMs += 1_000),
    },
  );
  try {
    const [without, off, on] = [handling(undefined), handling(null), handling(tracer)];
    const rounds: { without: number; off: number; on: number }[] = [];
    for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
      const measured = { without: await without(), off: await off(), on: await on() };
      if (round >= WARM_UP_ROUNDS) rounds.push(measured);
    }
    say('traces measured');
    return {
      figures: [
        figureOf('a message, traces off', rounds, 'off', { kind: 'ratio-at-most', limit: 1.05 }),
        figureOf('a message, traces on', rounds, 'on', null),
      ],
      notes: [
        'Processor time of a sample of disks: parsed, handled, and what follows made into records. An order follows from each, so that each has a span; of nearly all samples none does.',
        'With traces on it counts the span, its export every two seconds, and a collector in the same process.',
      ],
    };
  } finally {
    await tracer[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  }
}

/** `undefined`: as it was before there were traces. */
function handling(tracer: Tracer | null | undefined): Way {
  const publisher = createPublisher({
    log: { publish: async (records) => madeUpPositions(records) },
    source: '/fleetgc/bench',
    now: Date.now,
    ids: randomTraceIds,
    signer: UNSIGNED,
    tracer: tracer ?? null,
  });
  const read = readAlone(parseBelieved(TRUST_OFF));
  const handlers = { diskStats: () => outputs };
  const handle = async (): Promise<void> => {
    const handled = await decide('diskStats', read(record), { handlers, publisher });
    if (tracer === undefined) return;
    if (publisher.tracer !== null)
      recordMessage(handled, 0.1, { tracer: publisher.tracer, group: 'bench', now: Date.now });
  };
  return async () => {
    const before = process.cpuUsage();
    for (let i = 0; i < MESSAGES; i++) await handle();
    // What a span costs beside is paid when the queue is sent.
    await new Promise((resolve) => setImmediate(resolve));
    const { user, system } = process.cpuUsage(before);
    return (user + system) / MESSAGES;
  };
}

const figureOf = (
  name: string,
  rounds: readonly { readonly without: number; readonly off: number; readonly on: number }[],
  way: 'off' | 'on',
  aim: Figure['aim'],
): Figure => ({
  benchmark: 'traces',
  name,
  unit: 'µs',
  value: spreadOf(rounds.map((round) => round[way])),
  baseline: spreadOf(rounds.map(({ without }) => without)),
  baselineName: 'without the port',
  samples: rounds.length,
  aim,
});
