import { nodeKey, SUBJECTS } from '../../schemas/events/identity.ts';
import { locatedSubject } from '../../schemas/events/latest-fact.ts';
import type { TopicId } from '../../schemas/events/topics.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import type { DashboardProgress } from '../../schemas/reports/dashboard.ts';
import type { LogReader, LogRecord } from '../log/port.ts';
import { MINUTE_MS } from '../process/durations.ts';
import { trustThen } from '../records/read-heads.ts';
import { readKeys } from '../records/trust/key-source.ts';
import type { FactsTrust } from '../records/trust/process-trust.ts';
import { claimedSignature } from '../records/trust/signature.ts';
import { isFact, type Trust } from '../records/trust/trust.ts';

/** Somebody may make up keys without end: for those that are not known, keys are read no more often than this. */
const READ_AGAIN_MS = 1_000;
/** Clocks of brokers differ. */
const CLOCKS_DIFFER_MS = MINUTE_MS;

interface FactTrustNeeds {
  readonly log: LogReader;
  readonly roots: TrustRoots | null;
  readonly facts: FactsTrust;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

type Keys = Awaited<ReturnType<typeof readKeys>>['ring'];

/** Which facts count, as of when the log took them: by the function of `fleetgc audit verify`. */
export class FactTrust {
  readonly #needs: FactTrustNeeds;
  #known: {
    readonly ring: Keys;
    readonly trust: Trust;
    readonly isTruePosition: (record: LogRecord) => boolean;
  } | null = null;
  #readAtMs = 0;
  /** Under way for a key that is not known. */
  #reading: Promise<void> | null = null;
  #notBelieved = 0;

  constructor(needs: FactTrustNeeds) {
    this.#needs = needs;
  }

  /** Facts that no key of their node or cluster proves, and whether they are shown all the same; `null`: nobody looks. */
  get notBelieved(): DashboardProgress['notBelieved'] {
    const { roots, facts } = this.#needs;
    if (roots === null || facts === 'off') return null;
    return { records: this.#notBelieved, areShown: facts === 'warn' };
  }

  /** Before the first fact is judged, and again and again. */
  async readKeys(signal: AbortSignal): Promise<void> {
    const { log, roots, facts, now } = this.#needs;
    if (roots === null || facts === 'off') return;
    this.#readAtMs = now();
    const { ring } = await readKeys(log, roots, signal);
    const trust = trustThen(ring);
    this.#known = { ring, trust, isTruePosition: positionTrust(ring, trust) };
  }

  /**
   * A key that is not known may have been certified since keys were read: then they are read again. What comes meanwhile in other
   * partitions waits for the same reading.
   */
  async knowSigner(topic: TopicId, record: LogRecord, signal: AbortSignal): Promise<void> {
    if (!isFact(topic) || !this.#isStranger(record)) return;
    if (this.#reading === null && this.#needs.now() - this.#readAtMs >= READ_AGAIN_MS)
      this.#reading = this.readKeys(signal).finally(() => {
        this.#reading = null;
      });
    await this.#reading;
  }

  #isStranger({ headers, timestampMs }: LogRecord): boolean {
    if (this.#known === null) return false;
    const claimed = claimedSignature(headers);
    return (
      claimed.kind === 'claimed' &&
      this.#known.ring.find(claimed.signature.keyId) === undefined &&
      timestampMs > this.#readAtMs - CLOCKS_DIFFER_MS
    );
  }

  /** Counts facts that are not. */
  believes(topic: TopicId, record: LogRecord): boolean {
    if (this.#known === null || !isFact(topic)) return true;
    if (topic === 'latestFacts')
      return this.#needs.facts === 'warn'
        ? this.#known.isTruePosition(record)
        : this.#known.trust.authenticate(topic, record).ok;
    if (this.#known.trust.authenticate(topic, record).ok) return true;
    this.#notBelieved += 1;
    return this.#needs.facts === 'warn';
  }
}

/**
 * Whether a position counts. Where a key was certified for a node or cluster, only what a key of it signed does: whoever may write to the
 * topic could point away from what it said. One of which no key was certified has positions as it has facts: without a signature, and each
 * leads to a fact or to nothing.
 */
export function positionTrust(ring: Keys, trust: Trust): (record: LogRecord) => boolean {
  const hasKey = subjectsWithKeys(ring.keys());
  return (record) =>
    claimedSignature(record.headers).kind === 'none'
      ? !hasKey(record.key)
      : trust.authenticate('latestFacts', record).ok;
}

/** By a record key of `gc.latest-facts`. */
function subjectsWithKeys(keys: ReturnType<Keys['keys']>): (recordKey: string | null) => boolean {
  const named = new Set<string>();
  for (const { role, clusters, nodes } of keys) {
    if (role !== 'node' && role !== 'cluster') continue;
    if (clusters.length === 0) named.add(`all ${role}`);
    for (const cluster of clusters)
      if (role === 'cluster' || nodes.length === 0) named.add(`${role} of ${cluster}`);
      else for (const node of nodes) named.add(`node ${nodeKey({ cluster, node })}`);
  }
  return (recordKey) => {
    const subject = recordKey === null ? null : locatedSubject(recordKey);
    if (subject === null) return false;
    const { kind, key } = subject;
    const cluster = SUBJECTS[kind].clusterOf(key);
    return named.has(`all ${kind}`) || named.has(`${kind} of ${cluster}`) || named.has(`${kind} ${key}`);
  };
}

/** How the tables of a log are called: what somebody believes others may not, and make theirs anew. */
export const believedName = (
  name: string,
  { roots, facts }: Pick<FactTrustNeeds, 'roots' | 'facts'>,
): string => (roots !== null && facts === 'required' ? `${name}, signed for ${roots.fleet}` : name);

/** Judges records as of when the log took them; `null` without trust roots. */
export async function recordedTrust(
  roots: TrustRoots | null,
  log: LogReader,
  signal: AbortSignal,
): Promise<Trust | null> {
  return roots === null ? null : trustThen((await readKeys(log, roots, signal)).ring);
}
