import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { openEmbeddedLog } from '../../../../packages/log/embedded.ts';
import { TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';
import { silentContext } from '../../../packages/log/probe.ts';
import { createNetwork } from '../../../support/network.ts';
import { type ApiServer, type ApiServerSettings, startApiServer } from '../../../support/nodes/api-server.ts';
import { ClusterAccounts } from '../../../support/nodes/cluster-account.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { jsonOf, readTopic } from '../../read-topic.ts';
import { type SpawnedVerb, spawnVerb } from '../../service-process.ts';

/** From an owner that goes to the last of its dependents. */
const COLLECTED_MS = 40_000;
const PATH = '/api/v1/namespaces/default/configmaps';
const Config = z.looseObject({
  clusters: z.tuple([z.object({ name: z.string(), cluster: z.looseObject({ server: z.string() }) })]),
  users: z.tuple([z.object({ name: z.string(), user: z.looseObject({ token: z.string().optional() }) })]),
});
export type Kubeconfig = z.infer<typeof Config>;

export interface Owner {
  readonly name: string;
  readonly uid: string;
}

export interface ClusterRun {
  readonly running: SpawnedVerb;
  readonly said: () => string;
  readonly logPath: string;
}

/** A real API server whose ConfigMaps own each other, and `fleetgc cluster run` beside it. */
export class OneCluster implements AsyncDisposable {
  readonly server: ApiServer;
  readonly accounts: ClusterAccounts;
  readonly #stack: AsyncDisposableStack;
  #families = 0;
  #connection: ApiConnection;

  private constructor(server: ApiServer, stack: AsyncDisposableStack) {
    this.server = server;
    this.accounts = stack.use(new ClusterAccounts(server));
    this.#stack = stack;
    this.#connection = stack.use(this.accounts.connection(this.accounts.admin));
  }

  static async start(settings?: ApiServerSettings): Promise<OneCluster> {
    await using starting = new AsyncDisposableStack();
    const network = starting.use(await createNetwork());
    const server = starting.use(await startApiServer(network, settings));
    return new OneCluster(server, starting.move());
  }

  /** By which it is asked and changed from outside. */
  get connection(): ApiConnection {
    return this.#connection;
  }

  /** As whoever may do everything, and believes what the API server shows by now. */
  connectAnew(): void {
    const admin = this.kubeconfigOf(this.server.localKubeconfig, (config) => config);
    this.#connection = this.#stack.use(this.accounts.connection(admin));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  /** A kubeconfig of the account that has what `cluster rbac` prints, changed. Resolves to its path. */
  async kubeconfig(change: (config: Kubeconfig, token: string) => object): Promise<string> {
    const told = await this.server.accountKubeconfig('kube-system', 'fleetgc-cluster-run');
    return this.kubeconfigOf(told, change);
  }

  /** Any other one, changed. */
  kubeconfigOf(told: unknown, change: (config: Kubeconfig, token: string) => object): string {
    const config = Config.parse(told);
    const file = join(temporaryDirectory(), 'kubeconfig');
    writeFileSync(file, stringify(change(config, config.users[0].user.token ?? '')));
    return file;
  }

  async make(name: string, owners: readonly Owner[] = []): Promise<Owner> {
    const ownerReferences = owners.map((owner) => ({ apiVersion: 'v1', kind: 'ConfigMap', ...owner }));
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ownerReferences } };
    const answer = await this.connection.call({ method: 'POST', path: PATH, body: JSON.stringify(body) });
    if (answer.status !== 201) throw new Error(`${name} cannot be made: ${answer.body}`);
    return { name, uid: JSON.parse(answer.body).metadata.uid };
  }

  /** An owner with dependents, which are named after it. */
  async family(name: string, dependents: number): Promise<readonly string[]> {
    const owner = await this.make(name);
    const names = Array.from({ length: dependents }, (_, at) => `${name}-${at}`);
    for (const each of names) await this.make(each, [owner]);
    return names;
  }

  async remove(name: string): Promise<void> {
    const body = JSON.stringify({ propagationPolicy: 'Background' });
    const answer = await this.connection.call({ method: 'DELETE', path: `${PATH}/${name}`, body });
    if (answer.status !== 200) throw new Error(`${name} cannot be deleted: ${answer.body}`);
  }

  /** Changes an object in a way that matters to nobody. */
  async label(name: string): Promise<void> {
    const answer = await this.connection.call({
      method: 'PATCH',
      path: `${PATH}/${name}`,
      contentType: 'application/merge-patch+json',
      body: JSON.stringify({ metadata: { labels: { touched: 'yes' } } }),
    });
    if (answer.status !== 200) throw new Error(`${name} cannot be changed: ${answer.body}`);
  }

  async isThere(name: string): Promise<boolean> {
    const { status } = await this.connection.call({ method: 'GET', path: `${PATH}/${name}` });
    if (status !== 200 && status !== 404) throw new Error(`${name}: ${status}`);
    return status === 200;
  }

  async areThere(names: readonly string[]): Promise<readonly boolean[]> {
    const there: boolean[] = [];
    for (const name of names) there.push(await this.isThere(name));
    return there;
  }

  async collected(names: readonly string[], { said }: ClusterRun): Promise<void> {
    const allGone = async () => (await this.areThere(names)).every((isThere) => !isThere);
    await waitUntil(`${names} to go`, COLLECTED_MS, allGone).catch((cause) => {
      throw new Error(`${cause}\n${said().slice(-4_000)}`, { cause });
    });
  }

  /** The program as a user starts it, with a log of its own. */
  run(kubeconfig: string): ClusterRun {
    return this.runOn(join(temporaryDirectory(), 'log.db'), kubeconfig);
  }

  /** The same with the log of an earlier run. */
  runOn(logPath: string, kubeconfig: string): ClusterRun {
    const policy = join(temporaryDirectory(), 'policy.yaml');
    const collectors = ['garbage-collector-controller'];
    writeFileSync(
      policy,
      stringify({ kind: 'ClusterPolicy', name: 'clusters', mode: 'enforce', collectors }),
    );
    const running = spawnVerb(
      ...['cluster', 'run', '--cluster', 'c1', '--kubeconfig', kubeconfig],
      ...['--policy', policy, '--log-path', logPath],
    );
    return { running, logPath, said: () => running.output.stdout + running.output.stderr };
  }

  /** Resolves when it has collected something. */
  async ready(run: ClusterRun): Promise<void> {
    const name = `first-${this.#families++}`;
    const names = await this.family(name, 1);
    await this.remove(name);
    await this.collected(names, run);
  }

  /** What lies on the log of a run that has ended. */
  async eventsOf({ logPath }: ClusterRun, topic: TopicId): Promise<readonly unknown[]> {
    const options = { path: logPath, maxBytes: 2 ** 30, leavesRetention: true };
    await using log = await openEmbeddedLog(options, silentContext());
    return (await readTopic(log, TOPICS[topic].name)).map(jsonOf);
  }
}
