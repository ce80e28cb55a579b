import type { Logger } from 'pino';
import {
  keyOfLatestFact,
  type LatestFact,
  LOCATED_FACTS,
  type LocatedFact,
} from '../../schemas/events/latest-fact.ts';
import { type EventOf, TOPICS } from '../../schemas/events/topics.ts';
import { deriveId, sha256Hex } from '../canonical/ids.ts';
import type { Output } from '../decision/handler.ts';
import { partitionOf } from '../log/partition.ts';
import type { LogPosition, LogRecord } from '../log/port.ts';
import { waitAtMost } from '../log/stopping.ts';
import { MINUTE_MS } from '../process/durations.ts';
import { toFleetGcError } from '../process/errors.ts';
import { parseRecord } from './parse/parse-record.ts';
import {
  type AcknowledgedOutput,
  createPublisher,
  type Publisher,
  type PublisherSettings,
} from './publisher.ts';

/**
 * How often the position of a fact is published at most; readers read so much further from it.
 * @limit Least time between two positions of one fact.
 */
export const POSITION_EVERY_MS = 5 * MINUTE_MS;
/**
 * How much later than its fact a position may come. One that is older was put back by somebody.
 * @limit Age of a position when the log takes it.
 */
export const MOST_LATE_MS = 10 * MINUTE_MS;
/** After a failure the next attempt comes so much later at the earliest. */
const RETRY_AFTER_MS = MINUTE_MS;
/** What could not be published for so long waits for the next fact, so that it never counts as put back. */
const PUBLISHED_WITHIN_MS = 8 * MINUTE_MS;
/** Clocks of brokers differ. */
const CLOCKS_DIFFER_MS = MINUTE_MS;
/** The last positions of a process that ends may take so long. */
const LAST_POSITIONS_MS = 2_000;

interface LatestFactsNeeds {
  readonly publish: (outputs: readonly Output[]) => Promise<void>;
  /** Milliseconds of a clock that does not jump. */
  readonly monotonicNow: () => number;
  readonly logger: Pick<Logger, 'warn'>;
}

interface Known {
  /** Of the latest fact; `null` once it was published, or where the log did not say when it took the fact. */
  waiting: LatestFact | null;
  readonly acknowledgedAtMs: number;
  /** When the next position is due. */
  dueAtMs: number;
}

/**
 * Publishes where the latest fact of a subject lies, which the agent that sent it knows: of the first after a start, then every five
 * minutes, and of the last before an orderly stop. No fact waits for it; where one cannot be published, the next comes with a fact that is
 * a minute later or more.
 */
export class LatestFacts {
  readonly #needs: LatestFactsNeeds;
  readonly #known = new Map<string, Known>();
  readonly #publishing = new Set<Promise<void>>();
  /** Why the last attempt failed; logged once until one succeeds. */
  #problem: string | null = null;

  constructor(needs: LatestFactsNeeds) {
    this.#needs = needs;
  }

  /** Told of everything that the log has acknowledged. */
  readonly acknowledged = ({ output, record, position }: AcknowledgedOutput): void => {
    if (record.value === null || !isLocated(output)) return;
    const latest = latestFact(output, position, sha256Hex(record.value));
    if (latest === null) return;
    const key = keyOfLatestFact(latest);
    const nowMs = this.#needs.monotonicNow();
    const dueAtMs = this.#known.get(key)?.dueAtMs ?? nowMs;
    const known = { waiting: latest, acknowledgedAtMs: nowMs, dueAtMs };
    this.#known.set(key, known);
    if (nowMs >= dueAtMs) this.#publish(key, known);
  };

  /** After the last fact. Resolves when all positions are published, or soon after. Never rejects. */
  async end(): Promise<void> {
    await waitAtMost(Promise.all(this.#publishing), LAST_POSITIONS_MS);
    for (const [key, known] of this.#known) this.#publish(key, known);
    await waitAtMost(Promise.all(this.#publishing), LAST_POSITIONS_MS);
  }

  #publish(key: string, known: Known): void {
    const { waiting, acknowledgedAtMs } = known;
    const { publish, monotonicNow } = this.#needs;
    const nowMs = monotonicNow();
    if (waiting === null || nowMs - acknowledgedAtMs > PUBLISHED_WITHIN_MS) return;
    known.waiting = null;
    known.dueAtMs = nowMs + POSITION_EVERY_MS;
    // A signer may throw at once; the fact is on the log already.
    const publishing = Promise.resolve()
      .then(() => publish([{ topic: 'latestFacts', key, event: waiting }]))
      .then(
        () => {
          this.#problem = null;
        },
        (thrown: unknown) => {
          const newest = this.#known.get(key) ?? known;
          if (newest === known) known.waiting = waiting;
          newest.dueAtMs = monotonicNow() + RETRY_AFTER_MS;
          this.#warn(toFleetGcError(thrown).message);
        },
      )
      .finally(() => this.#publishing.delete(publishing));
    this.#publishing.add(publishing);
  }

  #warn(problem: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#needs.logger.warn(
      { problem },
      'cannot publish the position of the latest fact; will retry. Without it, status cannot list a node or cluster that has stopped reporting',
    );
  }
}

const isLocated = (output: Output): output is Output<LocatedFact> => output.topic in LOCATED_FACTS;

/** `null` where the log does not say when it took the fact: then nobody could tell an old position from a new one. */
function latestFact(
  { event }: Output<LocatedFact>,
  { partition, offset, timestampMs }: LogPosition,
  sha256: string,
): LatestFact | null {
  if (timestampMs === null) return null;
  const place = { partition, offset: String(offset), loggedAtMs: timestampMs, sha256 };
  const id = deriveId('latest-fact', event.id, place.offset);
  return isOfNode(event)
    ? {
        type: 'fleetgc.node.latest-fact',
        version: 1,
        id,
        cluster: event.cluster,
        node: event.node,
        nodeInstance: event.nodeInstance,
        fact: 'diskStats',
        ...place,
      }
    : {
        type: 'fleetgc.cluster.latest-fact',
        version: 1,
        id,
        cluster: event.cluster,
        clusterInstance: event.clusterInstance,
        fact: 'clusterCensus',
        ...place,
      };
}

const isOfNode = (event: EventOf<LocatedFact>): event is EventOf<'diskStats'> =>
  event.type === 'fleetgc.node.disk-stats';

type JudgedPosition =
  | { readonly ok: true; readonly latest: LatestFact }
  | { readonly ok: false; readonly why: string };

const OF_THE_FUTURE =
  'it names a fact of the future: it is made up, or the clocks of two brokers differ by more than a minute';

/** What a record of `gc.latest-facts` says, as far as the record itself proves it; whether a fact lies there is another question. */
export function judgeLatestFact(record: LogRecord): JudgedPosition {
  if (record.value === null) return { ok: false, why: 'it was deleted, which FleetGC never does' };
  const parsed = parseRecord('latestFacts', record);
  if (!parsed.ok) return { ok: false, why: parsed.rejection.message };
  const latest = parsed.event;
  const lateMs = record.timestampMs - latest.loggedAtMs;
  if (lateMs > MOST_LATE_MS)
    return { ok: false, why: 'it is much older than its record: somebody put an old one back' };
  if (lateMs < -CLOCKS_DIFFER_MS) return { ok: false, why: OF_THE_FUTURE };
  const partition = partitionOf(TOPICS.latestFacts.name, record.key ?? '');
  return record.partition === partition && latest.partition === partition
    ? { ok: true, latest }
    : { ok: false, why: 'it is on another partition than its subject' };
}

interface AgentPublisher {
  readonly publisher: Publisher;
  /** To be ended after the last fact. */
  readonly latestFacts: LatestFacts;
}

/** The publisher of an agent, which publishes where its latest facts lie too. */
export function createAgentPublisher(
  settings: Omit<PublisherSettings, 'onAcknowledged'>,
  { monotonicNow, logger }: Pick<LatestFactsNeeds, 'monotonicNow' | 'logger'>,
): AgentPublisher {
  const latestFacts = new LatestFacts({
    publish: (outputs) => publisher.publish(outputs),
    monotonicNow,
    logger,
  });
  const publisher = createPublisher({ ...settings, onAcknowledged: latestFacts.acknowledged });
  return { publisher, latestFacts };
}
