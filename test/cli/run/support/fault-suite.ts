import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import type { ApiAnswer, ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { freePort } from '../../../support/container.ts';
import { type FaultProxy, startFaultProxy, type WatchFault } from '../../../support/nodes/fault-proxy.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { type SpawnedVerb, spawnVerb } from '../../service-process.ts';

/** From an owner that goes to the last of its dependents. */
export const COLLECTED_MS = 40_000;
const PATH = '/api/v1/namespaces/default/configmaps';

/** An API server, as whoever may do everything, and as what collects it. */
export interface FaultySubject extends AsyncDisposable {
  readonly connection: ApiConnection;
  /** Of the account that collects. */
  readonly kubeconfig: unknown;
}

/** The program as it runs. */
export interface FaultyRun extends SpawnedVerb {
  /** What a metric shows, by its name without `fleetgc_`, labels included. */
  metric(name: string): Promise<number>;
}

export interface Owner {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly name: string;
  readonly uid: string;
}

/** A cluster of which one part follows over a way that spoils answers. */
export class FaultyCluster implements AsyncDisposable {
  readonly proxy: FaultProxy;
  readonly #subject: FaultySubject;

  private constructor(subject: FaultySubject, proxy: FaultProxy) {
    this.#subject = subject;
    this.proxy = proxy;
  }

  static async start(subject: FaultySubject): Promise<FaultyCluster> {
    return new FaultyCluster(subject, await startFaultProxy(subject.kubeconfig));
  }

  call(method: 'GET' | 'POST' | 'DELETE', path: string, object?: object): Promise<ApiAnswer> {
    const body = object === undefined ? {} : { body: JSON.stringify(object) };
    return this.#subject.connection.call({ method, path, ...body });
  }

  /** A ConfigMap. */
  async make(name: string, owners: readonly Owner[] = [], labels: object = {}): Promise<Owner> {
    const ownerReferences = owners.map((owner) => ({ apiVersion: 'v1', kind: 'ConfigMap', ...owner }));
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ownerReferences, labels } };
    const answer = await this.call('POST', PATH, object);
    expect(answer.status, answer.body).toBe(201);
    return { name, uid: JSON.parse(answer.body).metadata.uid };
  }

  async remove(name: string, propagationPolicy = 'Background'): Promise<ApiAnswer> {
    return this.call('DELETE', `${PATH}/${name}`, { propagationPolicy });
  }

  /** What would come of its deletion. */
  async tryToRemove(name: string): Promise<ApiAnswer> {
    return this.call('DELETE', `${PATH}/${name}`, { dryRun: ['All'] });
  }

  /** `null` for one that is not there. */
  async countOwners(name: string): Promise<number | null> {
    const { status, body } = await this.call('GET', `${PATH}/${name}`);
    return status === 404 ? null : (JSON.parse(body).metadata.ownerReferences ?? []).length;
  }

  async isGone(name: string): Promise<boolean> {
    return (await this.call('GET', `${PATH}/${name}`)).status === 404;
  }

  /** The program as a user starts it, with a log of its own, or that of an earlier run, and a policy that says more. */
  async startRun(logPath?: string, more: object = {}): Promise<FaultyRun> {
    const directory = temporaryDirectory();
    const [policy, kubeconfig] = [join(directory, 'policy.yaml'), join(directory, 'kubeconfig')];
    const collectors = ['garbage-collector-controller'];
    writeFileSync(
      policy,
      stringify({ kind: 'ClusterPolicy', name: 'clusters', mode: 'enforce', collectors, ...more }),
    );
    this.proxy.writeKubeconfig(kubeconfig);
    const address = `127.0.0.1:${await freePort()}`;
    const running = spawnVerb(
      ...['cluster', 'run', '--cluster', 'c1', '--kubeconfig', kubeconfig, '--log-level', 'warn'],
      ...['--policy', policy, '--log-path', logPath ?? join(directory, 'log.db'), '--http-address', address],
    );
    const metric: FaultyRun['metric'] = async (name) => {
      const text = await (await fetch(`http://${address}/metrics`)).text();
      const line = text.split('\n').find((each) => each.startsWith(`fleetgc_${name} `));
      return Number(line?.split(' ').at(-1) ?? 0);
    };
    return { ...running, metric };
  }

  async collected(running: FaultyRun, name: string): Promise<void> {
    try {
      await waitUntil(`${name} to go`, COLLECTED_MS, () => this.isGone(name));
    } catch (cause) {
      throw new Error(`${String(cause)}; it said ${running.output.stderr.slice(-3_000)}`, { cause });
    }
  }

  /** It tells this on stdout, as somebody at a terminal reads it. */
  async told(running: FaultyRun, text: RegExp): Promise<void> {
    await this.toldThat(running, String(text), (stdout) => text.test(stdout));
  }

  async toldThat(running: FaultyRun, what: string, isTold: (stdout: string) => boolean): Promise<void> {
    try {
      await waitUntil(`${what} to be told`, COLLECTED_MS, () => isTold(running.output.stdout));
    } catch (cause) {
      const { stdout, stderr } = running.output;
      const said = `${stdout.slice(-3_000)}\n${stderr.slice(-3_000)}`;
      throw new Error(`${String(cause)}; it said ${said}`, { cause });
    }
  }

  /** It works: it has collected something. */
  async working(running: FaultyRun, name: string): Promise<void> {
    const owner = await this.make(name);
    await this.make(`${name}-first`, [owner]);
    await this.remove(name);
    await this.collected(running, `${name}-first`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy[Symbol.asyncDispose]();
    await this.#subject[Symbol.asyncDispose]();
  }
}

const ended = (running: FaultyRun, why: Spoilt['why']): Promise<number> =>
  running.metric(`cluster_agent_watches_ended_total{why="${why}"}`);

const DEPTH = 1_000_000;
const DEEP = `{"type":"ADDED","object":${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}}`;
const LONG = `{"type":"ADDED","object":{"metadata":{"name":"${'x'.repeat(17 * 1024 * 1024)}"}}}`;

interface Spoilt {
  readonly name: string;
  readonly fault: WatchFault;
  /** How the metric counts it. */
  readonly why: 'expired' | 'unreadable' | 'closed';
  readonly says: string | null;
}
const SPOILT: readonly Spoilt[] = [
  { name: 'cut-in-a-line', fault: { kind: 'cut' }, why: 'closed', says: null },
  { name: 'expired', fault: { kind: 'expired' }, why: 'expired', says: null },
  {
    name: 'no-json',
    fault: { kind: 'line', text: '{"type":"DELETED","object":{"metada' },
    why: 'unreadable',
    says: 'the watch of ConfigMap ended: a line is no event; it is listed again',
  },
  {
    name: 'too-long',
    fault: { kind: 'line', text: LONG },
    why: 'unreadable',
    says: 'the watch of ConfigMap ended: a line has more than 16777216 bytes; it is listed again',
  },
  {
    name: 'too-deep',
    fault: { kind: 'line', text: DEEP },
    why: 'unreadable',
    says: 'the watch of ConfigMap ended: an event has no object; it is listed again',
  },
];

const TOO_MANY = {
  kind: 'Status',
  status: 'Failure',
  reason: 'TooManyRequests',
  code: 429,
  message: 'later',
};

/** Played with the simulated API server and a real one. Nothing is lost, nothing else goes, and it is told. */
export function faultSuite(called: string, start: () => Promise<FaultySubject>): void {
  let cluster: FaultyCluster;
  beforeAll(async () => {
    cluster = await FaultyCluster.start(await start());
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  test(`[cluster A7, A14] ${called}: whatever spoils a watch, nothing is lost and nothing else goes; and it is told`, async () => {
    const running = await cluster.startRun();
    await cluster.working(running, 'spoilt');
    const stays = await cluster.make('stays');
    for (const { name, fault, why, says } of SPOILT) {
      const before = await ended(running, why);
      const owner = await cluster.make(`owner-${name}`);
      await cluster.make(`left-by-${name}`, [owner]);
      await cluster.make(`held-${name}`, [stays]);
      await cluster.make(`shared-${name}`, [owner, stays]);
      cluster.proxy.spoilWatch('configmaps', fault);
      // The line that tells this is the one that is spoilt.
      await cluster.remove(owner.name);
      await cluster.collected(running, `left-by-${name}`);
      expect(await ended(running, why), name).toBe(before + 1);
      if (says !== null) expect(running.output.stderr).toContain(says);
      for (const kept of [`held-${name}`, `shared-${name}`, 'stays'])
        expect(await cluster.isGone(kept), kept).toBe(false);
    }
    cluster.proxy.withoutBookmarks = true;
    cluster.proxy.delayMs = 500;
    await cluster.working(running, 'delayed');
    Object.assign(cluster.proxy, { withoutBookmarks: false, delayMs: 0 });
    expect(await running.terminate()).toBe(0);
  });

  test(`[cluster A14] scenario 11, ${called}: a list whose second page has expired is begun again, and nothing follows from it until it is whole`, async () => {
    const owner = await cluster.make('owner-of-pages');
    await cluster.make('left-by-pages', [owner]);
    cluster.proxy.pageObjects = 2;
    const running = await cluster.startRun();
    await cluster.working(running, 'paged');
    cluster.proxy.expireSecondPages('configmaps', 3);
    cluster.proxy.spoilWatch('configmaps', { kind: 'expired' });
    await cluster.remove(owner.name);
    await waitUntil('the list to fail', COLLECTED_MS, () =>
      running.output.stderr.includes(
        'nothing is concluded of ConfigMap, which cannot be read: status 410, Expired',
      ),
    );
    await cluster.collected(running, 'left-by-pages');
    expect(await cluster.isGone('stays')).toBe(false);
    expect(await running.metric('cluster_agent_unsynced_kinds')).toBe(0);
    cluster.proxy.pageObjects = null;
    expect(await running.terminate()).toBe(0);
  });

  test(`[cluster F4] ${called}: a storm of 429 in which all watches break ends nothing, deletes nothing, and is sat out`, async () => {
    const running = await cluster.startRun();
    await cluster.working(running, 'before-storm');
    const [owner, other] = [await cluster.make('stormy'), await cluster.make('calm')];
    const left = Array.from({ length: 5 }, (_, number) => `left-in-storm-${number}`);
    for (const name of left) await cluster.make(name, [owner]);
    await cluster.make('held-in-storm', [other]);
    let refused = 0;
    const calm = cluster.proxy.intercept(() => {
      refused++;
      return { kind: 'answered', status: 429, headers: { 'retry-after': '1' }, body: TOO_MANY };
    });
    onTestFinished(calm);
    cluster.proxy.cut();
    await cluster.remove(owner.name);
    await waitUntil('each kind to ask again', COLLECTED_MS, () => refused > 25);
    for (const name of left) expect(await cluster.isGone(name), name).toBe(false);
    calm();
    for (const name of left) await cluster.collected(running, name);
    expect(await cluster.isGone('held-in-storm')).toBe(false);
    expect(running.output.stderr).not.toContain('restored');
    expect(await running.terminate()).toBe(0);
  });
}
