import type { TopicName } from '../../../../schemas/events/topics.ts';
import { pause } from '../../../process/backoff.ts';
import { type FleetGcError, toFleetGcError } from '../../../process/errors.ts';
import type { EventLogContext, EventLogHealth } from '../../port.ts';
import { type OngoingProblem, ongoingProblem } from '../../problems.ts';
import { withAdmin } from './admin.ts';
import type { KafkaClient } from './client.ts';
import { passesByItself, toEventLogError } from './errors.ts';
import { type KafkaOptions, secretsOf } from './options.ts';

/** What all clients of an open log share. */
interface Shared {
  readonly options: KafkaOptions;
  readonly context: EventLogContext;
  readonly health: Health;
  readonly outage: OngoingProblem;
  readonly clients: Set<Pick<KafkaClient, 'cutConnections'>>;
}

/** What belongs to the open log, for one of its clients: settings, surroundings, and whether the brokers can be reached. */
export class KafkaConnection implements Disposable {
  readonly #shared: Shared;
  readonly #client: ClientHealth;
  /** What a client still reports that was given up says nothing of the one that took its place. */
  #isDisposed = false;

  constructor(shared: Shared, client: ClientHealth) {
    this.#shared = shared;
    this.#client = client;
  }

  get options(): KafkaOptions {
    return this.#shared.options;
  }

  get context(): EventLogContext {
    return this.#shared.context;
  }

  /** Clients that keep connections; each adds itself, and takes itself out in the end. */
  get clients(): Set<Pick<KafkaClient, 'cutConnections'>> {
    return this.#shared.clients;
  }

  /**
   * The same for one client of several, which reaches the brokers or not whatever the others do: a producer that is refused
   * must not look well because a consumer goes on over a connection that it made before. Who has the same name is the same client.
   * Disposed of, its problem is forgotten.
   */
  forClient(name: string): KafkaConnection {
    return new KafkaConnection(this.#shared, this.#shared.health.clientOf(name));
  }

  /**
   * Says what kafkajs reported in our words, and notes when it means that the brokers are out of reach. An outage is logged when it
   * begins, when it ends, and at growing intervals while it lasts, however often it is met.
   */
  explain(error: unknown): FleetGcError {
    const { options, outage, health } = this.#shared;
    const failure = toEventLogError(options.brokers, error);
    if (failure.code !== 'LOG_UNREACHABLE' && failure.code !== 'LOG_UNAUTHORIZED') return failure;
    const fields = { code: failure.code, client: this.#client.name };
    if (passesByItself(error)) outage.passes(failure.code, fields, failure.message);
    else outage.occurred(failure.code, fields, failure.message);
    if (!this.#isDisposed) health.note(this.#client, failure.message);
    return failure;
  }

  /** To be called when a broker answered. */
  reached(): void {
    const { options, context, outage, health } = this.#shared;
    if (this.#isDisposed) return;
    health.note(this.#client, null);
    if (health.of().connected && outage.resolved())
      context.logger.info({ brokers: options.brokers }, 'Kafka is reached again');
  }

  health(follows?: TopicName): EventLogHealth {
    return this.#shared.health.of(follows);
  }

  /** To be called with what is wrong with the partitions of a topic, `null` when nothing is: while anything is, all stands still. */
  noteTopic(topic: TopicName, problem: string | null): void {
    if (!this.#isDisposed) this.#shared.health.noteTopic(topic, problem);
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#shared.health.forget(this.#client);
  }
}

export function createConnection(options: KafkaOptions, context: EventLogContext): KafkaConnection {
  const health = new Health();
  const outage = ongoingProblem(context);
  return new KafkaConnection({ options, context, health, outage, clients: new Set() }, health.former);
}

/** How one client is. */
interface ClientHealth {
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
class Health {
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

/**
 * How often files with secrets are looked at; the wait differs by half, so that a fleet does not come back in step.
 * @limit Period in which certificates and passwords are read again.
 */
const LOOK_EVERY_MS = 10_000;

/** The parts of the process that a test replaces. */
interface Renewal {
  readonly connection: KafkaConnection;
  readonly lookEveryMs?: number;
}

/** What the files hold; `null` while one is away, as in the middle of its replacement. */
function secretsNow({ options, context }: KafkaConnection): string | null {
  try {
    return secretsOf(options);
  } catch (error) {
    context.logger.debug({ err: toFleetGcError(error) }, 'a file with a secret cannot be read');
    return null;
  }
}

/** Whether the brokers let somebody in who comes with what the files hold now. */
async function isLetIn({ options, context }: KafkaConnection, trial: KafkaConnection): Promise<boolean> {
  try {
    await withAdmin(options, context, async () => undefined);
    trial.reached();
    return true;
  } catch (error) {
    trial.explain(error);
    return false;
  }
}

/**
 * When certificates, keys or the password were replaced, all connections are made anew with them, until `closing` aborts. They are
 * tried first: while the brokers refuse them those that stand go on, and health says so.
 */
export async function renewConnections(
  { connection, lookEveryMs = LOOK_EVERY_MS }: Renewal,
  closing: AbortSignal,
): Promise<void> {
  const { options, context, clients } = connection;
  if (options.ssl === undefined && options.sasl === undefined) return;
  let used = secretsNow(connection);
  while (!closing.aborted) {
    await pause(lookEveryMs * (0.5 + context.random()), closing);
    const found = secretsNow(connection);
    if (closing.aborted || found === null || found === used) continue;
    if (!(await untilLetIn({ connection, lookEveryMs }, closing))) continue;
    used = found;
    context.logger.info('certificates or passwords were replaced: connections are made anew');
    for (const client of clients) client.cutConnections();
  }
}

/** False when it was told to stop before. */
async function untilLetIn(
  { connection, lookEveryMs }: Required<Renewal>,
  closing: AbortSignal,
): Promise<boolean> {
  using trial = connection.forClient('new certificate or password');
  while (!closing.aborted) {
    if (await isLetIn(connection, trial)) return !closing.aborted;
    await pause(lookEveryMs * (0.5 + connection.context.random()), closing);
  }
  return false;
}
