import type { Socket } from 'node:net';
import kafkajs from 'kafkajs';
import manifest from 'kafkajs/package.json' with { type: 'json' };
import KafkaBroker from 'kafkajs/src/broker/index.js';
import KafkaBrokerPool from 'kafkajs/src/cluster/brokerPool.js';
import KafkaRequestQueue from 'kafkajs/src/network/requestQueue/index.js';
import createdV2 from 'kafkajs/src/protocol/requests/createTopics/v2/response.js';
import createdV3 from 'kafkajs/src/protocol/requests/createTopics/v3/response.js';
import response from 'kafkajs/src/protocol/requests/fetch/v11/response.js';
import { FleetGcError } from '../../../process/errors.ts';
import { gzipCodec, zstdCodec } from '../protocol/compression.ts';
import { decodeFetch } from '../protocol/record-batches.ts';
import { isRefusal, refusedParts } from './errors.ts';

const { CompressionCodecs, CompressionTypes, KafkaJSConnectionError } = kafkajs;

/** The version that these repairs were written for. */
const REPAIRED_VERSION = '2.2.4';
const OVERLOADED_PAUSE_MS = 10;

/** Requests may take half a minute. */
const LOOK_FOR_LATE_MS = 1000;

/** What the repair touches of kafkajs's queue of requests: one per connection. */
export interface RequestQueue {
  readonly pending: readonly unknown[];
  readonly throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
}

/**
 * kafkajs arms this timer for ever, also with nothing to send: about a thousand wake-ups a second for each idle
 * connection, and a warning of Node about a negative delay. Here it is armed only while requests wait. Those that wait
 * for the end of a throttling are still sent after it.
 */
export function scheduleWhenPending(queue: RequestQueue): void {
  if (queue.throttleCheckTimeoutId !== null || queue.pending.length === 0) return;
  const throttledMs = queue.throttledUntil - Date.now();
  queue.throttleCheckTimeoutId = setTimeout(
    () => {
      queue.throttleCheckTimeoutId = null;
      queue.checkPendingRequests();
    },
    throttledMs > 0 ? throttledMs : OVERLOADED_PAUSE_MS,
  );
}

interface OpenRequest {
  readonly requestTimeout: number;
  timeoutRequest(): void;
}

/** What ends requests that were not answered. */
export interface Enforcing {
  readonly enforceRequestTimeout: boolean;
  readonly inflight: ReadonlyMap<unknown, OpenRequest>;
  requestTimeoutIntervalId: NodeJS.Timeout;
  readonly isConnected: () => boolean;
  destroy(): void;
}

/**
 * kafkajs looks ten times a second, on each connection, also with nothing sent, whether a request is late, and asks the wall
 * clock: set forward, it ended requests that a broker answers in order, so that those after them were late too, and set back,
 * no request ever was. Here time counts that nobody can set, from the first look at a request.
 */
export function lookForLateRequests(queue: Enforcing): void {
  if (!queue.enforceRequestTimeout) return;
  queue.destroy();
  const sinceMs = new WeakMap<OpenRequest, number>();
  const waitedMs = (request: OpenRequest): number => {
    const nowMs = performance.now();
    const since = sinceMs.get(request) ?? nowMs;
    sinceMs.set(request, since);
    return nowMs - since;
  };
  queue.requestTimeoutIntervalId = setInterval(() => {
    for (const request of queue.inflight.values())
      if (waitedMs(request) >= request.requestTimeout) request.timeoutRequest();
    if (!queue.isConnected()) queue.destroy();
  }, LOOK_FOR_LATE_MS);
}

/** Repairs the queue of requests of the installed kafkajs: its idle loop, and how it looks for late ones. */
export function repairRequestQueue(): void {
  requireRepairedVersion();
  KafkaRequestQueue.prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    scheduleWhenPending(this);
  };
  KafkaRequestQueue.prototype.scheduleRequestTimeoutCheck = function (this: Enforcing): void {
    lookForLateRequests(this);
  };
}

/** A broker answers the first request at once; what is silent for longer is frozen, or no Kafka at all. */
const silentText = (ms: number): string =>
  `it takes connections, but did not answer as a Kafka broker does within ${ms / 1000} s`;

/** What the repair touches of kafkajs's broker. */
export interface Broker {
  readonly connectionPool: {
    readonly pool: readonly { readonly socket?: Socket }[];
    /** Milliseconds. */
    readonly connectionTimeout: number;
  };
}

export type AskVersions = (this: Broker) => Promise<unknown>;

function cut({ connectionPool }: Broker, why: string): void {
  for (const { socket } of connectionPool.pool) socket?.destroy(new Error(why));
}

/** Asks for the versions that a broker speaks, which is the first request; without an answer the connection is ended. */
async function askWithinBound(broker: Broker, ask: AskVersions): Promise<unknown> {
  const { connectionTimeout } = broker.connectionPool;
  const alarm = setTimeout(() => cut(broker, silentText(connectionTimeout)), connectionTimeout);
  try {
    return await ask.call(broker);
  } catch (error) {
    cut(broker, 'the first request failed');
    throw error;
  } finally {
    clearTimeout(alarm);
  }
}

/**
 * kafkajs takes a broker for connected whose connection is open, also when it never answered the first request: the next
 * try "succeeds", and all that follows fails with an error that nobody can tell from a fault of our own. Here a connection
 * without its first answer ends, so that the next broker of the list is tried. For `REPAIRED_VERSION` alone.
 */
function repairFirstAnswer(): void {
  const ask = KafkaBroker.prototype.apiVersions;
  KafkaBroker.prototype.apiVersions = function (this: Broker): Promise<unknown> {
    return askWithinBound(this, ask);
  };
}

/** What is asked of one broker after the other, until one of them answers. */
export type AskOneOfThem = (ask: (of: unknown) => Promise<unknown>) => Promise<unknown>;

/**
 * kafkajs asks the next broker whatever the first one said, and in the end knows of no answer: who may not use a group or a topic was
 * told that there is no coordinator, or that every broker went away, and tried again for ever. Here a refusal is the answer.
 */
export const tellRefusals = (withBroker: AskOneOfThem): AskOneOfThem =>
  async function (this: unknown, ask) {
    const refusals: unknown[] = [];
    const answer = await withBroker.call(this, async (of) => {
      try {
        return await ask(of);
      } catch (error) {
        if (isRefusal(error)) refusals.push(error);
        throw error;
      }
    });
    if (answer === null && refusals.length > 0) throw refusals[0];
    return answer;
  };

/** What asks a pool of brokers, whatever for. */
export type AskPool = (this: unknown, ...asked: readonly unknown[]) => Promise<unknown>;

/**
 * kafkajs forgets a broker whose connection ended, and all of them when a client ends, also while another call waits for one of
 * them: that one reads in `undefined`, and ends with an error that is told as a fault of our own, and is not tried again. Only
 * kafkajs's own code runs there.
 */
export const unreachableWhenForgotten = (ask: AskPool): AskPool =>
  async function (this: unknown, ...asked) {
    try {
      return await ask.call(this, ...asked);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      const gone = new KafkaJSConnectionError(
        'the connection to the broker ended while it was asked for metadata',
      );
      throw Object.assign(gone, { cause: error });
    }
  };

/** An answer to a request that creates topics; the message is the broker's own, or that of its policy. */
interface CreatedAnswer {
  readonly topicErrors: readonly { readonly topic: string; readonly errorMessage?: string | null }[];
}
export type ParseCreated = (answer: CreatedAnswer) => Promise<unknown>;

/** kafkajs throws away what a broker says of a refusal, and gives its own text for the code. */
export const withBrokersWords =
  (parse: ParseCreated): ParseCreated =>
  async (answer) => {
    try {
      return await parse(answer);
    } catch (error) {
      for (const part of refusedParts(error)) {
        const said = answer.topicErrors.find(({ topic }) => 'topic' in part && part.topic === topic);
        Object.assign(part, { brokerMessage: said?.errorMessage ?? null });
      }
      throw error;
    }
  };

/**
 * kafkajs has no zstd of its own, and a consumer without it cannot read a topic on which somebody used it; its own gzip decompresses
 * without a bound.
 */
export function registerCodecs(): void {
  CompressionCodecs[CompressionTypes.ZSTD] = () => zstdCodec;
  CompressionCodecs[CompressionTypes.GZIP] = () => gzipCodec;
}

/** Throws `INTERNAL` for a version nobody looked at. */
function requireRepairedVersion(): void {
  const { version } = manifest;
  if (version === REPAIRED_VERSION) return;
  throw new FleetGcError(
    'INTERNAL',
    `kafkajs ${version} is installed, but it is repaired for ${REPAIRED_VERSION} only. Look whether the repairs are still needed.`,
  );
}

let isRepaired = false;
/** Once per process, and before the first connection. Throws `INTERNAL` for a version nobody looked at. */
export function repairKafkajs(): void {
  if (isRepaired) return;
  repairRequestQueue();
  repairFirstAnswer();
  const pool = KafkaBrokerPool.prototype;
  pool.withBroker = tellRefusals(pool.withBroker);
  pool.connect = unreachableWhenForgotten(pool.connect);
  pool.refreshMetadata = unreachableWhenForgotten(pool.refreshMetadata);
  createdV2.parse = withBrokersWords(createdV2.parse);
  createdV3.parse = withBrokersWords(createdV3.parse);
  response.decode = decodeFetch;
  registerCodecs();
  isRepaired = true;
}
