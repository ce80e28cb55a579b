import type { KafkaOptions } from './options.ts';

/** How long what is asked of brokers may take, in milliseconds. */
interface TimeLimits {
  /** Until a connection stands, and until the first answer over it: a broker gives it at once. */
  readonly connectMs: number;
  /** Of one request; longer than a broker may wait for news or for acknowledgements. */
  readonly requestMs: number;
  /** Until a broker says itself that copies are missing. */
  readonly acknowledgeMs: number;
  /** A reading that is to end gives up when no broker answered for so long. */
  readonly silenceMs: number;
  /** How often a batch is sent, where no leader changes. */
  readonly sends: number;
}

/** @limit Timeouts of Kafka connections and requests. Keep `requestMs` above the long polls. */
const LIMITS: Readonly<Record<KafkaOptions['waits'], TimeLimits>> = {
  short: { connectMs: 2500, requestMs: 7500, acknowledgeMs: 5000, silenceMs: 8000, sends: 1 },
  long: { connectMs: 5000, requestMs: 30_000, acknowledgeMs: 10_000, silenceMs: 30_000, sends: 2 },
};

export const timeLimits = ({ waits }: Pick<KafkaOptions, 'waits'>): TimeLimits => LIMITS[waits];
