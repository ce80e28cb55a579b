import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { type ApiConnection, apiConnection } from '../../../packages/kube-api/connection.ts';
import { ServerClock } from '../../../packages/kube-api/server-clock.ts';
import { inProcess } from '../../cli/fleetgc.ts';
import { waitUntil } from '../wait-until.ts';
import { accessBy } from './api-access.ts';
import { type ApiServer, TestManifest } from './api-server.ts';

const READY_MS = 60_000;
/** Whether it may list pods: whatever the answer is, it may ask. */
const OWN_REVIEW = JSON.stringify({
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SelfSubjectAccessReview',
  spec: { resourceAttributes: { verb: 'list', resource: 'pods' } },
});
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const PrintedList = z.object({ items: z.array(TestManifest) });

/** Files of kubeconfigs for one API server, and connections by them. */
export class ClusterAccounts implements Disposable {
  readonly #server: ApiServer;
  readonly #directory = mkdtempSync(join(tmpdir(), 'fleetgc-accounts-'));
  /** May do everything. */
  readonly admin: string;

  constructor(server: ApiServer) {
    this.#server = server;
    this.admin = this.#written('admin', server.localKubeconfig);
  }

  /** What `fleetgc cluster rbac` prints is applied, and nothing else: a kubeconfig of the account. */
  async accountByDefault(part: 'run' | 'agent' | 'executor', ...args: readonly string[]): Promise<string> {
    await this.applyPrinted('rbac', '--part', part, '--kubeconfig', this.admin, ...args);
    const name = `fleetgc-cluster-${part}`;
    const file = await this.fileFor('kube-system', name);
    using connection = this.connection(file);
    await waitUntil(`${name} to have its rights`, READY_MS, async () => {
      const { status } = await connection.call({ method: 'GET', path: '/api/v1/namespaces/kube-system' });
      return status === 200;
    });
    return file;
  }

  /** The same with rights on all kinds, as a cluster that is compared with upstream needs them. */
  account(part: 'run' | 'agent' | 'executor', ...args: readonly string[]): Promise<string> {
    return this.accountByDefault(part, '--with', 'all', ...args);
  }

  /** A kubeconfig of a service account that is there; it has what every account has, which an API server gives a while after its start. */
  async fileFor(namespace: string, name: string): Promise<string> {
    const file = this.#written(name, await this.#server.accountKubeconfig(namespace, name));
    using connection = this.connection(file);
    await waitUntil(`${name} to have the rights of every account`, READY_MS, async () => {
      return (await connection.call({ method: 'POST', path: REVIEWS, body: OWN_REVIEW })).status === 201;
    });
    return file;
  }

  /** Runs a verb of `cluster` that prints objects, and applies them. */
  async applyPrinted(verb: string, ...args: readonly string[]): Promise<void> {
    await this.applyOutput('cluster', verb, ...args);
  }

  /** The same of any verb. */
  async applyOutput(...words: readonly string[]): Promise<void> {
    const printed = await inProcess([...words, '--output', 'json']);
    if (printed.exitCode !== 0) throw new Error(`${words.join(' ')}: ${printed.stderr}`);
    await this.#server.apply(PrintedList.parse(JSON.parse(printed.stdout)).items);
  }

  connection(file: string): ApiConnection {
    return apiConnection({
      access: accessBy(file),
      clock: new ServerClock(),
      nowMs: () => performance.now(),
      userAgent: 'fleetgc/test',
    });
  }

  #written(name: string, kubeconfig: unknown): string {
    const file = join(this.#directory, name);
    writeFileSync(file, stringify(kubeconfig));
    return file;
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
