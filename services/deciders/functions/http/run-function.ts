import type { Logger } from 'pino';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { toFleetGcError } from '../../../../packages/process/errors.ts';
import { type HttpSettings, type ProbeServer, serveHttp } from '../../../../packages/process/http.ts';
import { untilAborted } from '../../../../packages/process/loops.ts';
import type { Address } from '../../../../packages/process/options/options.ts';
import type { FailedMessage } from '../../../../packages/records/dead-letters/dead-letters.ts';
import type { Handled } from '../../../../packages/records/decide.ts';
import type { OpenFunction } from '../open-function.ts';
import { boundsOf, type FunctionBounds } from './bounds.ts';
import { type CallerSettings, callerWarnings, requireCallers } from './callers.ts';
import { type ReadRecord, withOwnKey } from './event-record.ts';
import { type EventProblem, kindOfCause, kindOfPassing, Refused } from './problem.ts';
import { readEvents } from './read-events.ts';
import { type Answer, type Asked, eventsAnswer, PUBLISHED, problemAnswer, serveFunction } from './serve.ts';

interface Running {
  readonly callers: CallerSettings;
  /** On an address of their own, so that no caller takes their connections; `null`: nobody probes. */
  readonly probes: HttpSettings | null;
  readonly logger: Logger;
  /** Told once it is served. */
  readonly onServing?: (addresses: ServedAddresses) => void;
}

interface ServedAddresses {
  readonly callers: Address;
  /** `null` where nobody probes. */
  readonly probes: Address | null;
}

/** Answers requests until `signal` aborts. Throws `CONFIG_INVALID`. */
export async function runFunction(
  open: OpenFunction,
  { callers, probes, logger, onServing }: Running,
  signal: AbortSignal,
): Promise<void> {
  requireCallers(callers);
  const bounds = boundsOf(open.decider.topics);
  await using probed = probes && (await serveProbes(open, probes, signal));
  if (probed) logger.info({ ...probed.address }, 'serving health and metrics');
  await using serving = await serveFunction({
    callers,
    bounds,
    answer: (asked) => answerEvents(asked, { open, bounds, signal }),
    onAnswered: (status) => open.counts.answered(status),
    onConnectionRefused: () => open.counts.refusedConnection(),
    logger,
  });
  const { host, port } = serving.address;
  logger.info({ host, port, decider: open.decider.name, publishes: open.publishes }, 'serving decisions');
  for (const warning of callerWarnings(callers)) logger.warn(warning);
  onServing?.({ callers: serving.address, probes: probed?.address ?? null });
  await untilAborted(signal);
  await serving[Symbol.asyncDispose]();
  await open.end();
}

/** Whoever is not ready gets no events: what is there by now has to be looked at all the same. The next probe sees it. */
const serveProbes = (
  { policies }: OpenFunction,
  settings: HttpSettings,
  signal: AbortSignal,
): Promise<ProbeServer> =>
  serveHttp({
    ...settings,
    checks: () => {
      void policies.look(signal);
      return settings.checks();
    },
  });

interface Answering {
  readonly open: OpenFunction;
  readonly bounds: FunctionBounds;
  readonly signal: AbortSignal;
}

/**
 * Decides on all events of a request, or on none: an answer has one status, and a caller that sends the same again gets the same. What
 * will never work is told before what will pass, so that the others can be sent without it.
 */
export async function answerEvents(asked: Asked, { open, bounds, signal }: Answering): Promise<Answer> {
  const { decider, now } = open;
  const received = readEvents(asked.mode, asked.body, {
    topics: decider.topics,
    prefix: open.kafkaPrefix,
    bounds,
    nowMs: now(),
    sent: asked,
  });
  if (received instanceof Refused) return problemAnswer(received.problem);
  const { readings } = received;
  const unreadable = readings.flatMap((reading, index) =>
    reading.ok ? [] : [{ index, id: reading.id, kind: reading.kind, detail: reading.detail }],
  );
  if (unreadable.length > 0) return refusal(unreadable, readings.length);
  try {
    await open.policies.look(signal);
    const records = readings.flatMap((reading) => (reading.ok ? [keyed(reading, open.engine)] : []));
    return await decidedAnswer(records, asked, open);
  } catch (thrown) {
    const { code, message, retry } = toFleetGcError(thrown);
    if (!retry) throw thrown;
    return problemAnswer({ kind: kindOfPassing(code), detail: message });
  }
}

/** Into what cannot be believed nobody looks for its key: it is refused as it is. */
const keyed = ({ record, tellsKey }: ReadRecord, engine: OpenFunction['engine']): LogRecord =>
  tellsKey || !engine.mayBeBelieved(record) ? record : withOwnKey(record);

async function decidedAnswer(
  records: readonly LogRecord[],
  { wantsBatch }: Asked,
  { engine, publishes }: OpenFunction,
): Promise<Answer> {
  const handled: Handled[] = [];
  for (const record of records) handled.push(await engine.decideOn(record));
  const failed = handled.flatMap(({ failure }) => failure ?? []);
  if (failed.length > 0) return refusal(problemsOf(failed, records), records.length);
  if (!publishes)
    return eventsAnswer(
      handled.flatMap(({ stages }) => stages.flat()),
      wantsBatch,
    );
  const unsent = await engine.publish(handled);
  return unsent.length === 0 ? PUBLISHED : refusal(problemsOf(unsent, records), records.length, OTHERS_SENT);
}

const problemsOf = (
  failed: readonly FailedMessage[],
  records: readonly LogRecord[],
): readonly EventProblem[] =>
  failed.map(({ record, cause, message }) => ({
    index: records.indexOf(record),
    id: record.headers.ce_id ?? null,
    kind: kindOfCause(cause),
    detail: message,
  }));

const NOTHING_DONE = 'so nothing was decided on any of them; send the others without these';
const OTHERS_SENT = 'what follows from the others is on the event log; do not send these again';

function refusal(problems: readonly EventProblem[], of: number, done = NOTHING_DONE): Answer {
  const [first] = problems;
  if (first === undefined) throw new TypeError('nothing is refused without a reason');
  const { kind, detail } = first;
  if (of === 1) return problemAnswer({ kind, detail });
  return problemAnswer({
    kind,
    detail: `${problems.length} of ${of} events will never work, ${done}. The first: ${detail}`,
    events: problems.slice(0, MOST_NAMED),
  });
}

/** All that a request can hold. */
const MOST_NAMED = 500;
