import type { Census } from '../../../schemas/events/census.ts';
import type { HeldProof } from '../../../schemas/reports/policy-list.ts';
import type { LogRecord } from '../../log/port.ts';
import { parseRecord } from '../../records/parse/parse-record.ts';
import type { Trust } from '../../records/trust/trust.ts';
import { ToldOrder } from './told-order.ts';

/** The latest census of a cluster. */
export interface ToldCensus {
  readonly census: Census;
  /** By the log's clock. */
  readonly heardMs: number;
  /** Whose word it is. */
  readonly proof: HeldProof;
}

type Last = Omit<ToldCensus, 'proof'>;

/** Where a key of the cluster signed some of it, what no key signed counts for nothing, and neither does what was put back. */
export class ToldCensuses {
  readonly #trust: Trust | null;
  readonly #orders = new Map<string, ToldOrder>();
  readonly #signed = new Map<string, Last>();
  readonly #all = new Map<string, Last>();
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
    this.#all.set(census.cluster, last);
    if (this.#trust?.authenticate('clusterCensus', record).ok !== true) return;
    const order = this.#orders.get(census.cluster) ?? new ToldOrder();
    this.#orders.set(census.cluster, order);
    if (order.isNews(census, record.timestampMs)) this.#signed.set(census.cluster, last);
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
