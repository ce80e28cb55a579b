import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Wait } from 'testcontainers';
import { z } from 'zod';
import { controlOf, started, TestContainer } from '../container.ts';
import { changeAuthority, createTlsFiles } from '../kafka/tls-files.ts';
import type { TestNetwork } from '../network.ts';
import { patiently } from '../patience.ts';
import { ensureToolchain } from '../toolchain/toolchain.ts';
import { API_SERVER_IMAGE } from '../toolchain/versions.ts';
import { waitUntil } from '../wait-until.ts';

const ALIAS = 'api-server';
/** The first address of the services of a cluster, at which pods ask it. */
export const API_SERVICE_ADDRESS = '10.96.0.1';
const NAMES = [ALIAS, '127.0.0.1', API_SERVICE_ADDRESS];
const PORT = 6443;
const START_MS = 60_000;
const READY_MS = 60_000;
const REQUEST_MS = 10_000;
/** Whoever has it may do everything; the server is gone with its test. */
const TOKEN = 'test-token';
const NAMESPACE = '/api/v1/namespaces/default';

/** A real API server of Kubernetes without a cluster: no controller and no scheduler, only what kubelets join. */
export interface ApiServer extends AsyncDisposable {
  /** With this file a kubelet of the same network joins. */
  readonly kubeconfig: unknown;
  /** The same for a program on this machine. */
  readonly localKubeconfig: unknown;
  /** The same for a service account, which is there already. */
  accountKubeconfig(namespace: string, name: string): Promise<unknown>;
  /** Creates or replaces objects, as `kubectl apply` does. Rejects where the kind is not served, as of a definition that is new. */
  apply(manifests: readonly TestManifest[]): Promise<void>;
  /** Creates a pod in the namespace `default` as it is written; resolves to its UID. */
  createPod(manifest: unknown): Promise<string>;
  /** What the pod's kubelet last told of it; `null` when there is no such pod. */
  podStatus(name: string): Promise<ApiPodStatus | null>;
  /** Deletes a pod; its kubelet sees to the rest. */
  deletePod(name: string): Promise<void>;
  /** PEM files: who signed its first certificate and those of clients. */
  readonly files: {
    readonly authority: string;
    /** As `createClient` wants it. */
    readonly directory: string;
  };
  /** Ends it and its etcd, and starts both again. Resolves when it answers. */
  restart(between?: () => Promise<void>): Promise<void>;
  /** The same, with a certificate of another authority from then on. Resolves to the PEM file of that one. */
  changeAuthority(): Promise<string>;
}

/** An object of a kind whose plural is its name and an s, as all that FleetGC prints. */
export const TestManifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});
export type TestManifest = z.infer<typeof TestManifest>;

const TokenAnswer = z.object({ status: z.object({ token: z.string() }) });
const Created = z.object({ metadata: z.object({ uid: z.string() }) });
const ApiPod = z.object({
  status: z.object({
    phase: z.string().optional(),
    reason: z.string().optional(),
    containerStatuses: z.array(z.object({ restartCount: z.int() })).default([]),
  }),
});
export type ApiPodStatus = z.infer<typeof ApiPod>['status'];

/** What differs from an API server that is as others are. */
export interface ApiServerSettings {
  /** For kube-apiserver, beside those that it has. */
  readonly flags: readonly string[];
  /** A folder of this machine for the data of etcd, which then outlast the container's own end; `null` for memory. */
  readonly data: string | null;
  /** On this machine, so that it is the same after a restart. */
  readonly port: number | null;
  /** Whether a pod needs a service account, which a controller manager makes in each namespace. */
  readonly needsAccounts?: boolean;
}

const AS_OTHERS: ApiServerSettings = { flags: [], data: null, port: null };

/** Starts it in a container of its own; resolves when pods can be created. */
export async function startApiServer(
  network: TestNetwork,
  settings: ApiServerSettings = AS_OTHERS,
): Promise<ApiServer> {
  await ensureToolchain(['api-server']);
  await using stack = new AsyncDisposableStack();
  const files = mkdtempSync(join(tmpdir(), 'fleetgc-api-server-'));
  stack.defer(() => rmSync(files, { recursive: true, force: true }));
  const { authority, serverKeyStore } = await createTlsFiles(files, NAMES);
  const tokens = join(files, 'tokens.csv');
  writeFileSync(tokens, `${TOKEN},admin,admin,system:masters\n`);
  const running = await started(
    new TestContainer(API_SERVER_IMAGE)
      .withExposedPorts(settings.port === null ? PORT : { container: PORT, host: settings.port })
      .withEnvironment({
        PATH: `${OWN_PROGRAMS}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
      })
      .withTmpFs({ '/run': 'rw' })
      .withNetworkMode(network.name)
      .withNetworkAliases(ALIAS)
      .withBindMounts([
        { source: serverKeyStore, target: '/etc/kubernetes/server.pem', mode: 'ro' },
        { source: tokens, target: '/etc/kubernetes/tokens.csv', mode: 'ro' },
        { source: authority, target: CLIENT_AUTHORITY, mode: 'ro' },
        { source: ownPrograms(files, settings), target: OWN_PROGRAMS, mode: 'ro' },
        ...(settings.data === null ? [] : [{ source: settings.data, target: DATA, mode: 'rw' as const }]),
      ])
      .withWaitStrategy(Wait.forLogMessage(/Serving securely/))
      .withStartupTimeout(patiently(START_MS)),
  );
  const control = await controlOf(running.getId());
  stack.defer(control.remove);
  let ca = readFileSync(authority);
  const local = `https://127.0.0.1:${running.getMappedPort(PORT)}`;
  const call = caller(local, () => ca);
  const ready = () =>
    waitUntil('the API server to have its namespaces', READY_MS, async () => {
      return (await call('GET', NAMESPACE).catch(() => null)) !== null;
    });
  await ready();
  const restart: ApiServer['restart'] = async (between = async () => undefined) => {
    await control.stop();
    await between();
    await control.start();
    await ready();
  };
  const owned = stack.move();
  return {
    kubeconfig: kubeconfigOf(`https://${ALIAS}:${PORT}`, ca),
    get localKubeconfig() {
      return kubeconfigOf(local, ca);
    },
    accountKubeconfig: async (namespace, name) => {
      const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
      const { status } = TokenAnswer.parse(await call('POST', path, { spec: {} }));
      return kubeconfigOf(local, ca, status.token);
    },
    apply: async (manifests) => {
      for (const manifest of manifests) {
        const path = applyPathOf(manifest);
        if ((await call('PATCH', path, manifest)) === null)
          throw new Error(`PATCH ${path}: it is not served`);
      }
    },
    createPod: async (manifest) => {
      const created = await call('POST', `${NAMESPACE}/pods`, manifest);
      return Created.parse(created).metadata.uid;
    },
    podStatus: async (name) => {
      const found = await call('GET', `${NAMESPACE}/pods/${name}`);
      return found === null ? null : ApiPod.parse(found).status;
    },
    files: { authority, directory: files },
    restart,
    changeAuthority: async () => {
      let next = '';
      await restart(async () => {
        next = await changeAuthority(files, NAMES);
        ca = readFileSync(next);
      });
      return next;
    },
    deletePod: async (name) => void (await call('DELETE', `${NAMESPACE}/pods/${name}`)),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const OWN_PROGRAMS = '/opt/test/bin';
const CLIENT_AUTHORITY = '/etc/kubernetes/client-ca.pem';
const DATA = '/var/lib/etcd-of-test';
/** Without the flag of the image that lets pods be made where no controller manager is. */
const AS_GIVEN_ACCOUNTS = `for each; do
  shift
  [ "$each" = --disable-admission-plugins=ServiceAccount ] || set -- "$@" "$each"
done`;

/** Programs of the same names, which come first on the path, and give the real ones more to go by. */
function ownPrograms(files: string, { flags, data, needsAccounts = false }: ApiServerSettings): string {
  const folder = join(files, 'bin');
  mkdirSync(folder);
  const write = (name: string, real: string, more: readonly string[]): void => {
    const lines = ['#!/bin/sh', ...(needsAccounts ? [AS_GIVEN_ACCOUNTS] : [])];
    const script = [...lines, `exec ${real} "$@" ${more.join(' ')}`, ''].join('\n');
    writeFileSync(join(folder, name), script, { mode: 0o755 });
  };
  write('kube-apiserver', '/usr/local/bin/kube-apiserver', [
    `--client-ca-file=${CLIENT_AUTHORITY}`,
    ...flags,
  ]);
  if (data !== null) write('etcd', '/usr/bin/etcd', [`--data-dir=${DATA}`]);
  return folder;
}

/** Server-side apply makes what is not there. */
function applyPathOf({ apiVersion, kind, metadata: { name, namespace } }: TestManifest): string {
  const root = apiVersion.includes('/') ? '/apis' : '/api';
  const place = namespace === undefined ? '' : `/namespaces/${namespace}`;
  const plural = `${kind.toLowerCase().replace(/y$/, 'ie')}s`;
  return `${root}/${apiVersion}${place}/${plural}/${name}?fieldManager=test&force=true`;
}

const kubeconfigOf = (server: string, ca: Buffer, token = TOKEN): unknown => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [
    {
      name: 'test',
      cluster: {
        server,
        'certificate-authority-data': ca.toString('base64'),
      },
    },
  ],
  users: [{ name: 'kubelet', user: { token } }],
  contexts: [{ name: 'test', context: { cluster: 'test', user: 'kubelet' } }],
  'current-context': 'test',
});

/** Resolves to the answer's body, `null` where there is none such. */
type Call = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) => Promise<unknown>;

function caller(base: string, authority: () => Buffer): Call {
  const authorization = `Bearer ${TOKEN}`;
  return async (method, path, body) => {
    const headers = {
      authorization,
      'content-type': `application/${method === 'PATCH' ? 'apply-patch+yaml' : 'json'}`,
    };
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const signal = AbortSignal.timeout(patiently(REQUEST_MS));
    request(new URL(path, base), { method, ca: authority(), headers, signal }, resolve)
      .on('error', reject)
      .end(body === undefined ? undefined : JSON.stringify(body));
    const response = await promise;
    const answer = await text(response);
    const { statusCode = 0 } = response;
    if (statusCode === 404) return null;
    if (statusCode >= 300) throw new Error(`${method} ${path}: ${statusCode} ${answer}`);
    return JSON.parse(answer);
  };
}
