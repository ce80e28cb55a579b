import type { Census } from '../../schemas/events/census.ts';
import { SUBJECTS } from '../../schemas/events/identity.ts';
import { compareText } from '../../schemas/events/text-order.ts';
import { type FleetEvent, TOPICS } from '../../schemas/events/topics.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import type { HeldProof } from '../../schemas/reports/policy-list.ts';
import { partitionOf } from '../log/partition.ts';
import type { LogReader, LogRecord } from '../log/port.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../process/durations.ts';
import { parseRecord } from '../records/parse/parse-record.ts';
import type { TimeRange } from '../records/read-log.ts';
import type { Trust } from '../records/trust/trust.ts';
import type { CandidatesFact } from './held-objects.ts';
import { believedPositions, readLatestFacts, type UnlocatedSubject } from './latest-facts.ts';
import { partitionsOf, scan } from './scan.ts';
import { recordedTrust } from './trust.ts';

/** The latest census of a cluster. */
export interface ToldCensus {
  readonly census: Census;
  /** By the log's clock. */
  readonly heardMs: number;
  /** Whose word it is. */
  readonly proof: HeldProof;
}

interface AskedCensuses {
  readonly log: LogReader;
  /** `null` for all clusters. */
  readonly cluster: string | null;
  /** Whose signatures count; `null` if signatures are not verified. */
  readonly roots: TrustRoots | null;
  /** By the clock of the log, epoch milliseconds. */
  readonly nowMs: number;
}

interface LastCensuses {
  /** By the names of the clusters. */
  readonly censuses: readonly ToldCensus[];
  readonly unreadable: number;
  /** Clusters of which there is a position and no census. */
  readonly unlocated: readonly UnlocatedSubject[];
}

/**
 * What each cluster told last of itself: in the last hour, or, where nobody did, as far back as the topic reaches. Of one cluster that no
 * position leads to, its whole partition is read.
 */
export async function lastCensuses(asked: AskedCensuses, signal: AbortSignal): Promise<LastCensuses> {
  const lately = await readCensuses(asked, null, signal);
  if (lately.censuses.length > 0) return lately;
  const located = await readCensuses(asked, asked.nowMs - TOPICS.latestFacts.retentionMs, signal);
  if (asked.cluster === null || located.censuses.length > 0) return located;
  const whole = await readCensuses(asked, null, signal, { fromMs: null, toMs: null });
  return whole.censuses.length > 0 ? whole : located;
}

interface CensusesOfTheDay {
  /** By the names of the clusters. */
  readonly censuses: ReadonlyMap<string, ToldCensus>;
  readonly unlocated: readonly UnlocatedSubject[];
}

/** What each cluster told last of itself in the last day. */
export async function censusesOfTheDay(
  log: LogReader,
  { nowMs, roots }: { readonly nowMs: number; readonly roots: TrustRoots | null },
  signal: AbortSignal,
): Promise<CensusesOfTheDay> {
  const asked = { log, cluster: null, roots, nowMs };
  const { censuses, unlocated } = await readCensuses(asked, nowMs - DAY_MS, signal);
  return { censuses: new Map(censuses.map((told) => [told.census.cluster, told])), unlocated };
}

/**
 * `range` whole, at first the last hour, in which every agent that runs tells how its cluster stands; of those that are silent for longer, the census that
 * `gc.latest-facts` names, where they told one since `fromMs`. `null`: nobody asks for those.
 */
async function readCensuses(
  { log, cluster, roots, nowMs }: AskedCensuses,
  fromMs: number | null,
  signal: AbortSignal,
  range: TimeRange = { fromMs: nowMs - HOUR_MS, toMs: null },
): Promise<LastCensuses> {
  const last = new ToldCensuses(await recordedTrust(roots, log, signal));
  const { name } = TOPICS.clusterCensus;
  const partitions =
    cluster === null ? partitionsOf('cluster') : [partitionOf(name, SUBJECTS.cluster.keyOf({ cluster }))];
  const part = { topics: ['clusterCensus'], partitions, ranges: [range] } as const;
  await scan(log, part, ({ record }) => last.take(record), signal);
  let unlocated: readonly UnlocatedSubject[] = [];
  if (fromMs !== null) {
    const told = last.proved();
    const isKnown = (key: string): boolean => told.has(key) || (cluster !== null && key !== cluster);
    const isBelieved = await believedPositions(roots, log, signal);
    const asking = { log, fact: 'clusterCensus', fromMs, isKnown, isBelieved } as const;
    unlocated = await readLatestFacts(asking, (record) => last.take(record), signal);
  }
  const censuses = [...last.told().values()]
    .filter(({ census }) => cluster === null || census.cluster === cluster)
    .toSorted((a, b) => compareText(a.census.cluster, b.census.cluster));
  return { censuses, unreadable: last.unreadable, unlocated };
}

type LastCensus = Omit<ToldCensus, 'proof'>;

/** Where a key of the cluster signed some of it, what no key signed counts for nothing, and neither does what was put back. */
class ToldCensuses {
  readonly #trust: Trust | null;
  readonly #orders = new Map<string, ToldOrder>();
  readonly #signed = new Map<string, LastCensus>();
  readonly #all = new Map<string, LastCensus>();
  #unreadable = 0;

  /** `trust`: `null` if signatures are not verified. */
  constructor(trust: Trust | null) {
    this.#trust = trust;
  }

  get unreadable(): number {
    return this.#unreadable;
  }

  /** In the order of the log. */
  take(record: LogRecord): void {
    const parsed = parseRecord('clusterCensus', record);
    if (!parsed.ok) {
      this.#unreadable++;
      return;
    }
    const { event: census } = parsed;
    const last = { census, heardMs: record.timestampMs };
    if (last.heardMs >= (this.#all.get(census.cluster)?.heardMs ?? 0)) this.#all.set(census.cluster, last);
    if (this.#trust?.authenticate('clusterCensus', record).ok !== true) return;
    const order = this.#orders.get(census.cluster) ?? new ToldOrder();
    this.#orders.set(census.cluster, order);
    if (order.isNews(census, record.timestampMs)) this.#signed.set(census.cluster, last);
  }

  /** Clusters of which nothing earlier says more: what no key signed is no reason to look no further. */
  proved(): ReadonlySet<string> {
    return new Set((this.#trust === null ? this.#all : this.#signed).keys());
  }

  /** By cluster. */
  told(): ReadonlyMap<string, ToldCensus> {
    const unsigned = this.#trust === null ? 'not-checked' : 'unsigned';
    return new Map(
      [...this.#all].map(([cluster, last]): [string, ToldCensus] => {
        const signed = this.#signed.get(cluster);
        return [
          cluster,
          signed === undefined ? { ...last, proof: unsigned } : { ...signed, proof: 'signed' },
        ];
      }),
    );
  }
}

type Told = CandidatesFact | Census;

/** The latest fact of one kind. */
interface LastFact extends Pick<Told, 'session'> {
  /** `null` where facts are not counted. */
  readonly seq: number | null;
  /** By the API server's clock. */
  readonly serverMs: number;
  /** By the log's clock. */
  readonly atMs: number;
}

/** Clocks of API servers of one cluster differ. */
const CLOCKS_DIFFER_MS = MINUTE_MS;
/** An agent reports within ten minutes. Where it has stopped, another one counts whatever its API server's clock says. */
const SILENT_AFTER_MS = 15 * MINUTE_MS;

/**
 * Which facts of one cluster are newer than the last. Any account that may write to the log can replay a fact that the agent once signed: it lies after
 * newer ones then, with a signature that counts, and would show what was held long ago, or hide what is held now.
 */
export class ToldOrder {
  readonly #last = new Map<FleetEvent['type'], LastFact>();

  /** In the order of the log; `atMs`: when the log took it. */
  isNews(told: Told, atMs: number): boolean {
    const { type, session, takenAt } = told;
    const seq = 'seq' in told ? told.seq : null;
    const now = { session, seq, serverMs: takenAt.serverMs, atMs };
    const last = this.#last.get(type);
    if (last !== undefined && !follows(now, last)) return false;
    this.#last.set(type, now);
    return true;
  }
}

function follows(now: LastFact, last: LastFact): boolean {
  if (now.session === last.session && now.seq !== null && last.seq !== null) return now.seq > last.seq;
  return now.serverMs >= last.serverMs - CLOCKS_DIFFER_MS || now.atMs - last.atMs > SILENT_AFTER_MS;
}
