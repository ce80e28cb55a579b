import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { stringify } from 'yaml';
import { EventLogOptions, openEventLog } from '../../../../packages/event-log/open.ts';
import type { EventLog } from '../../../../packages/event-log/port.ts';
import { parseBelieved } from '../../../../packages/pipeline/parse/parse-believed.ts';
import { readKeyFile } from '../../../../packages/trust/key-file.ts';
import { TRUST_OFF } from '../../../../packages/trust/trust.ts';
import { type EventOf, TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';
import { type Ended, fleetgc } from '../../../cli/fleetgc.ts';
import { readTopic } from '../../../cli/read-topic.ts';
import { type Broker, startBroker } from '../../../support/kafka/kafka.ts';
import { createNetwork } from '../../../support/network.ts';
import { startApiServer } from '../../../support/nodes/api-server.ts';
import { ConfigMaps } from './config-maps.ts';
import { Part } from './part.ts';
import { type ProxiedServer, proxiedServer } from './proxied-server.ts';

const ROLES = ['operator', 'decider', 'cluster'] as const;
type Role = (typeof ROLES)[number];

/** One cluster of a fleet whose orders are signed: its API server, Kafka, and whatever processes a test wants. */
export class ClusterFleet implements AsyncDisposable {
  readonly broker: Broker;
  readonly server: ProxiedServer;
  readonly configMaps: ConfigMaps;
  readonly log: EventLog;
  readonly #directory: string;
  readonly #parts: Part[] = [];
  readonly #stack: AsyncDisposableStack;

  private constructor(
    parts: Pick<ClusterFleet, 'broker' | 'server' | 'configMaps' | 'log'>,
    directory: string,
    stack: AsyncDisposableStack,
  ) {
    this.broker = parts.broker;
    this.server = parts.server;
    this.configMaps = parts.configMaps;
    this.log = parts.log;
    this.#directory = directory;
    this.#stack = stack;
  }

  static async start(): Promise<ClusterFleet> {
    await using starting = new AsyncDisposableStack();
    const stack = starting.use(new AsyncDisposableStack());
    const network = stack.use(await createNetwork());
    const [broker, api] = await Promise.all([
      startBroker({ network }).then((started) => stack.use(started)),
      startApiServer(network).then((started) => stack.use(started)),
    ]);
    const directory = mkdtempSync(join(tmpdir(), 'fleetgc-cluster-'));
    stack.defer(() => rmSync(directory, { recursive: true, force: true }));
    const server = stack.use(await proxiedServer(api.localKubeconfig));
    server.writeKubeconfig(join(directory, 'kubeconfig'));
    writeFileSync(join(directory, 'admin'), stringify(api.localKubeconfig));
    const log = stack.use(await openEventLog(logOptions(broker.address), SILENT));
    const configMaps = new ConfigMaps(join(directory, 'admin'));
    const fleet = new ClusterFleet({ broker, server, configMaps, log }, directory, stack);
    await fleet.#setUp();
    starting.move();
    return fleet;
  }

  file(name: string): string {
    return join(this.#directory, name);
  }

  keyIdOf(role: Role): string {
    return readKeyFile(this.file(`${role}.pem`)).keyId;
  }

  /** Runs a verb as an operator does, whatever comes of it. */
  ask(...args: readonly string[]): Promise<Ended> {
    return fleetgc(args, { environment: this.#environment() });
  }

  /** It must end well; what it printed. */
  async cli(...args: readonly string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await this.ask(...args);
    if (exitCode !== 0) throw new Error(`fleetgc ${args.join(' ')} ended with ${exitCode}: ${stderr}`);
    return stdout;
  }

  async apply(policy: object): Promise<void> {
    const file = this.file('policy.yaml');
    writeFileSync(file, stringify({ kind: 'ClusterPolicy', name: 'clusters', ...policy }));
    await this.cli('policy', 'apply', file, ...this.signedBy('operator'));
  }

  signedBy(role: Role): readonly string[] {
    return [...this.trusting, '--signing-key-file', this.file(`${role}.pem`)];
  }

  get trusting(): readonly string[] {
    return ['--trust', 'required', '--trust-roots', this.file('roots.yaml')];
  }

  get root(): readonly string[] {
    return ['--trust-roots', this.file('roots.yaml'), '--root-key-file', this.file('root.pem')];
  }

  decide(): Part {
    return this.#part('decide', ['decide', ...this.signedBy('decider')]);
  }

  agent(...more: readonly string[]): Part {
    return this.#part('agent', ['cluster', 'agent', ...this.#ofCluster(), ...more]);
  }

  executor(...more: readonly string[]): Part {
    const state = ['--state-directory', this.file(`state-${randomUUID()}`)];
    return this.#part('executor', ['cluster', 'executor', ...this.#ofCluster(), ...state, ...more]);
  }

  /** Everything on a topic, from its beginning. */
  async events<Id extends TopicId>(topic: Id): Promise<readonly EventOf<Id>[]> {
    const parse = parseBelieved(TRUST_OFF);
    const records = await readTopic(this.log, TOPICS[topic].name);
    return records.flatMap((record) => {
      const parsed = parse(topic, record);
      return parsed.ok ? [parsed.event] : [];
    });
  }

  /** What was told of each object, by its name, in the order in which it was told. */
  async outcomes(): Promise<ReadonlyMap<string, readonly string[]>> {
    const found = new Map<string, string[]>();
    for (const event of await this.events('clusterResults')) {
      if (event.type !== 'fleetgc.cluster.object-results') continue;
      for (const { object, result } of event.objects) {
        const words = 'reason' in result ? `${result.outcome} ${result.reason}` : result.outcome;
        found.set(object.name, [...(found.get(object.name) ?? []), words]);
      }
    }
    return found;
  }

  /** What every part said last, for an error. */
  get said(): string {
    return this.#parts.map(({ name, output }) => `${name} said last:\n${output.slice(-2_000)}`).join('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#parts.map((part) => part[Symbol.asyncDispose]()));
    await this.#stack.disposeAsync();
  }

  #part(name: string, args: readonly string[]): Part {
    const part = new Part(name, [...args, '--kafka-brokers', this.broker.address]);
    this.#parts.push(part);
    return part;
  }

  #ofCluster(): readonly string[] {
    return ['--cluster', 'c1', '--kubeconfig', this.file('kubeconfig'), ...this.signedBy('cluster')];
  }

  #environment(): Readonly<Record<string, string>> {
    return { FLEETGC_KAFKA_BROKERS: this.broker.address, FLEETGC_KAFKA_REPLICATION_FACTOR: '1' };
  }

  /** As docs/operating/keys.md says it, with a root that has a network. */
  async #setUp(): Promise<void> {
    await this.cli('topics', 'create');
    const root = (await this.cli('keys', 'create', this.file('root.pem'))).trim();
    const roots = await this.cli('keys', 'roots', '--fleet', 'clusters', '--root', `first=${root}`);
    writeFileSync(this.file('roots.yaml'), roots);
    for (const role of ROLES) {
      const key = (await this.cli('keys', 'create', this.file(`${role}.pem`))).trim();
      const said = ['--role', role, '--name', role, '--valid-for', '90d'];
      await this.cli('keys', 'certify', key, ...said, ...this.root);
    }
  }
}

const SILENT = {
  logger: pino({ level: 'silent' }),
  now: Date.now,
  random: Math.random,
  newId: () => randomUUID(),
};

const logOptions = (address: string): EventLogOptions =>
  EventLogOptions.parse({ kind: 'kafka', brokers: [address], clientId: 'test', replicationFactor: 1 });
