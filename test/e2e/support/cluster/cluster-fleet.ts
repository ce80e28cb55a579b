import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { parse, stringify } from 'yaml';
import type { Output } from '../../../../packages/decision/handler.ts';
import { EventLogOptions, openEventLog } from '../../../../packages/log/open.ts';
import type { EventLog, LogRecord } from '../../../../packages/log/port.ts';
import { randomTraceIds } from '../../../../packages/process/system-sources.ts';
import { newTrace } from '../../../../packages/process/trace.ts';
import { parseBelieved } from '../../../../packages/records/parse/parse-believed.ts';
import { toRecord } from '../../../../packages/records/publisher.ts';
import { readKeyFile } from '../../../../packages/records/trust/private-key.ts';
import { signRecord } from '../../../../packages/records/trust/signature.ts';
import { TRUST_OFF } from '../../../../packages/records/trust/trust.ts';
import { type EventOf, TOPICS, type TopicId, type TopicName } from '../../../../schemas/events/topics.ts';
import type { KeyRole } from '../../../../schemas/keys/key-statement.ts';
import { type Ended, fleetgc } from '../../../cli/fleetgc.ts';
import { readTopic } from '../../../cli/read-topic.ts';
import { type Broker, startBroker } from '../../../support/kafka/kafka.ts';
import { createNetwork } from '../../../support/network.ts';
import { startApiServer } from '../../../support/nodes/api-server.ts';
import { ClusterAccounts } from '../../../support/nodes/cluster-account.ts';
import { ConfigMaps } from './config-maps.ts';
import { Part } from './part.ts';
import { type ProxiedServer, proxiedServer } from './proxied-server.ts';

const ROLES = ['operator', 'decider', 'cluster'] as const;
const FLEET = 'clusters';
/** Of what works in a cluster, as `cluster rbac --part` calls them. */
const HALVES = ['agent', 'executor'] as const;
type Half = (typeof HALVES)[number];
const kubeconfigOf = (half: Half): string => `${half}-kubeconfig`;

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
    const accounts = stack.use(new ClusterAccounts(api));
    for (const half of HALVES) {
      const kubeconfig: unknown = parse(readFileSync(await accounts.account(half), 'utf8'));
      server.writeKubeconfig(join(directory, kubeconfigOf(half)), kubeconfig);
    }
    const log = stack.use(await openEventLog(logOptions(broker.address), SILENT));
    const configMaps = new ConfigMaps(accounts.admin);
    const fleet = new ClusterFleet({ broker, server, configMaps, log }, directory, stack);
    await fleet.#setUp();
    starting.move();
    return fleet;
  }

  file(name: string): string {
    return join(this.#directory, name);
  }

  /** Of an account that has the rights that are printed for this half, and no others. */
  kubeconfig(half: Half): string {
    return this.file(kubeconfigOf(half));
  }

  /** Keys have names; those that are there from the start are called like their roles. */
  keyIdOf(name: string): string {
    return readKeyFile(this.file(`${name}.pem`)).keyId;
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

  signedBy(name: string): readonly string[] {
    return [...this.trusting, '--signing-key-file', this.file(`${name}.pem`)];
  }

  /** A key that the root certifies in this role. */
  async addKey(name: string, role: KeyRole): Promise<void> {
    const key = (await this.cli('keys', 'create', this.file(`${name}.pem`))).trim();
    const said = ['--role', role, '--name', name, '--valid-for', '90d'];
    await this.cli('keys', 'certify', key, ...said, ...this.root);
  }

  /** Writes past the verbs, as whoever has Kafka's password can; signed by the key of this name, if any. */
  async write(output: Output, keyName: string | null): Promise<void> {
    const nowMs = Date.now();
    const record = toRecord(output, { source: '/forger', nowMs, trace: newTrace(randomTraceIds) });
    const generation = output.topic === 'policies' ? nowMs : null;
    const key = keyName === null ? null : readKeyFile(this.file(`${keyName}.pem`));
    await this.log.publish([key === null ? record : signRecord(record, { fleet: FLEET, key, generation })]);
  }

  /** Everything on a topic as it lies there. */
  records(topic: TopicName): Promise<readonly LogRecord[]> {
    return readTopic(this.log, topic);
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
    return this.#part('agent', ['cluster', 'agent', ...this.#ofCluster('agent'), ...more]);
  }

  executor(...more: readonly string[]): Part {
    const state = ['--state-directory', this.file(`state-${randomUUID()}`)];
    return this.#part('executor', ['cluster', 'executor', ...this.#ofCluster('executor'), ...state, ...more]);
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

  #ofCluster(half: Half): readonly string[] {
    return ['--cluster', 'c1', '--kubeconfig', this.kubeconfig(half), ...this.signedBy('cluster')];
  }

  #environment(): Readonly<Record<string, string>> {
    return { FLEETGC_KAFKA_BROKERS: this.broker.address, FLEETGC_KAFKA_REPLICATION_FACTOR: '1' };
  }

  /** As docs/operating/keys.md says it, with a root that has a network. */
  async #setUp(): Promise<void> {
    await this.cli('topics', 'create');
    const root = (await this.cli('keys', 'create', this.file('root.pem'))).trim();
    const roots = await this.cli('keys', 'roots', '--fleet', FLEET, '--root', `first=${root}`);
    writeFileSync(this.file('roots.yaml'), roots);
    for (const role of ROLES) await this.addKey(role, role);
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
