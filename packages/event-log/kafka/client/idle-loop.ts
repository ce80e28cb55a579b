import kafkajs from 'kafkajs/package.json' with { type: 'json' };
import KafkaRequestQueue from 'kafkajs/src/network/requestQueue/index.js';
import { FleetGcError } from '../../../process/errors.ts';

/** The version whose idle loop this repair was written for. */
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

/** Repairs the idle loop of the installed kafkajs. Throws `INTERNAL` for a version nobody looked at. */
export function repairIdleLoop(): void {
  const { version } = kafkajs;
  if (version !== REPAIRED_VERSION) {
    throw new FleetGcError(
      'INTERNAL',
      `kafkajs ${version} is installed, but its idle loop is repaired for ${REPAIRED_VERSION} only. Look whether the repair is still needed.`,
    );
  }
  KafkaRequestQueue.prototype.scheduleCheckPendingRequests = function (this: RequestQueue): void {
    scheduleWhenPending(this);
  };
  KafkaRequestQueue.prototype.scheduleRequestTimeoutCheck = function (this: Enforcing): void {
    lookForLateRequests(this);
  };
}
