import type { TopicName } from '../../../../schemas/events/topics.ts';
import type { EventLogHealth } from '../../port.ts';

/** How one client is. */
export interface ClientHealth {
  readonly name: string;
  /** `undefined`: nobody knows yet. */
  problem: string | null | undefined;
}

export const followerName = (topic: TopicName): string => `follower of ${topic}`;

function healthOf(clients: readonly ClientHealth[]): EventLogHealth {
  const failing = clients.filter(({ problem }) => typeof problem === 'string');
  const last = failing.at(-1)?.problem ?? null;
  const isWell = clients.some(({ problem }) => problem === null);
  if (last === null) return { connected: isWell, problem: isWell ? null : 'Kafka was not reached yet.' };
  const each = [...new Set(failing.map(({ name, problem }) => `${name}: ${problem}`))];
  return { connected: false, problem: isWell ? each.join('; ') : last };
}

/** How all clients of an open log are, and its topics. */
export class Health {
  /** The one that changed last comes last. */
  readonly #clients = new Set<ClientHealth>();
  readonly #wrongTopics = new Map<TopicName, string>();
  /** Somebody reached the brokers, who is not there any more. */
  readonly former: ClientHealth = { name: 'kafka', problem: undefined };

  constructor() {
    this.#clients.add(this.former);
  }

  of(follows?: TopicName): EventLogHealth {
    const [wrong] = this.#wrongTopics.values();
    if (wrong !== undefined) return { connected: false, problem: wrong };
    const all = [...this.#clients];
    // Between two readings of the same topic nobody knows more than the others do.
    const follower =
      follows && all.find(({ name, problem }) => name === followerName(follows) && problem !== undefined);
    return healthOf(follower === undefined ? all : [follower]);
  }

  clientOf(name: string): ClientHealth {
    const found = [...this.#clients].find((one) => one.name === name) ?? { name, problem: undefined };
    this.#clients.add(found);
    return found;
  }

  note(client: ClientHealth, problem: string | null): void {
    client.problem = problem;
    this.#clients.delete(client);
    this.#clients.add(client);
  }

  forget(client: ClientHealth): void {
    this.#clients.delete(client);
    if (client.problem === null) this.former.problem = null;
  }

  noteTopic(topic: TopicName, problem: string | null): void {
    if (problem === null) this.#wrongTopics.delete(topic);
    else this.#wrongTopics.set(topic, problem);
  }
}
