import type { Socket } from 'node:net';
import KafkaBroker from 'kafkajs/src/broker/index.js';

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
 * without its first answer ends, so that the next broker of the list is tried. For the version that `repairIdleLoop` asks for.
 */
export function repairFirstAnswer(): void {
  const ask = KafkaBroker.prototype.apiVersions;
  KafkaBroker.prototype.apiVersions = function (this: Broker): Promise<unknown> {
    return askWithinBound(this, ask);
  };
}
