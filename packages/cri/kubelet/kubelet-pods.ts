import { readFileSync } from 'node:fs';
import type { Agent, IncomingMessage } from 'node:http';
import * as https from 'node:https';
import type { Socket } from 'node:net';
import { z } from 'zod';
import { FleetGcError } from '../../process/errors.ts';
import { http } from '../../process/node-http.ts';
import type { KubeletPod, PodListing, PodSource } from './pod-source.ts';

/**
 * Asks the kubelet for /pods. A kubelet does not say which process it is, but one TCP connection has one process at its
 * end: the instance is the connection, which is kept open between calls. One that breaks counts as a restart, which only
 * ever keeps more. Rejects with `PODS_UNREADABLE`; the next call then begins with a new connection.
 */
export function kubeletPodSource(options: KubeletOptions): PodSource & Disposable {
  let sockets = 0;
  let connection: KubeletConnection | null = null;
  const drop = (): void => {
    connection?.[Symbol.dispose]();
    connection = null;
  };
  return {
    list: async () => {
      try {
        connection ??= kubeletConnection(options, () => sockets++);
        const { body, socket, proxy } = await connection.get('/pods');
        const listing = podListingIn(body, `connection-${socket}`);
        return proxy === null ? listing : { ...listing, proxy };
      } catch (cause) {
        drop();
        throw unreadable(options, cause);
      }
    },
    [Symbol.dispose]: drop,
  };
}

/** The pods in an answer to /pods. Throws a plain error that says what is wrong with it. */
export function podListingIn(body: string, kubeletInstance: string): PodListing {
  const parsed = KubeletPodList.safeParse(JSON.parse(body));
  if (parsed.success) return { kubeletInstance, pods: podsIn(parsed.data) };
  throw new Error(`its answer is no list of pods: ${z.prettifyError(parsed.error).replaceAll('\n', ' ')}`);
}

const unreadable = ({ url }: KubeletOptions, cause: unknown): FleetGcError =>
  new FleetGcError(
    'PODS_UNREADABLE',
    `cannot read the pods from the kubelet at ${url}, so nothing of a deleted pod is removed: ${messageOf(cause)}`,
    { cause },
  );

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const Container = z.object({ name: z.string().optional(), image: z.string().optional() });
const Containers = z.array(Container).nullish();
/** One without a name could be any container of its pod (M28). */
const InitContainers = z.array(Container.extend({ name: z.string().min(1) })).nullish();

/** What we read of a pod as the Kubernetes API writes it; empty fields are left out there. */
const Pod = z.object({
  metadata: z.object({
    uid: z.string().min(1),
    name: z.string(),
    namespace: z.string(),
    deletionTimestamp: z.string().nullish(),
    annotations: z.record(z.string(), z.string()).nullish(),
  }),
  spec: z.object({
    containers: Containers,
    initContainers: InitContainers,
    ephemeralContainers: Containers,
    volumes: z.array(z.object({ image: z.object({ reference: z.string().optional() }).nullish() })).nullish(),
  }),
  status: z.object({ phase: z.string().optional(), reason: z.string().optional() }).nullish(),
});

/** The kubelet's answer to /pods. Go writes an empty list as `null`. */
const KubeletPodList = z.object({
  kind: z.literal('PodList'),
  items: z.array(Pod).nullable(),
});
type KubeletPodList = z.infer<typeof KubeletPodList>;

/** What the kubelet's eviction manager writes, and nobody else. */
const EVICTED = 'Evicted';

const podsIn = ({ items }: KubeletPodList): KubeletPod[] => (items ?? []).map(podOf);

function podOf({ metadata, spec, status }: z.infer<typeof Pod>): KubeletPod {
  const phase = status?.phase ?? '';
  return {
    uid: metadata.uid,
    name: metadata.name,
    namespace: metadata.namespace,
    phase,
    deletionTimestamp: metadata.deletionTimestamp != null,
    source: metadata.annotations?.['kubernetes.io/config.source'] ?? '',
    images: imagesOf(spec),
    initContainers: (spec.initContainers ?? []).map(({ name }) => name),
    finished: phase === 'Succeeded' || phase === 'Failed',
    evicted: status?.reason === EVICTED,
  };
}

function imagesOf(spec: z.infer<typeof Pod>['spec']): string[] {
  const containers = [spec.containers, spec.initContainers, spec.ephemeralContainers].flatMap(
    (list) => list ?? [],
  );
  const volumes = (spec.volumes ?? []).map(({ image }) => image?.reference);
  return [...containers.map(({ image }) => image), ...volumes].flatMap((image) => image || []);
}

/** How the kubelet of this node is reached. Secrets come from files, which are read anew for each connection. */
export interface KubeletOptions {
  /** `https://127.0.0.1:10250`, or `http://127.0.0.1:10255` for the read-only port. */
  readonly url: string;
  /** Authority of the kubelet's serving certificate; a self-signed certificate is its own. */
  readonly caFile: string | null;
  /** The name in that certificate, where it is not the host in the URL: usually the node's name. */
  readonly serverName: string | null;
  readonly certificateFile: string | null;
  readonly keyFile: string | null;
  /** A service account's token, in place of a certificate. Read for each call, since it is replaced every hour. */
  readonly tokenFile: string | null;
}

interface Answer {
  readonly body: string;
  /** Number of the TCP connection that it came over. */
  readonly socket: number;
  /** What a proxy calls itself in the answer; `null` where nobody does, as a kubelet never does. */
  readonly proxy: string | null;
}

/** A connection that is kept open and used again. Calls reject with a plain error that says what went wrong. */
interface KubeletConnection extends Disposable {
  get(path: string): Promise<Answer>;
}

/**
 * An inventory waits for the answer, and an order for the inventory.
 * @limit Timeout of a kubelet request. Keep it at or below `MAX_PODS_AGE_MS`.
 */
const TIMEOUT_MS = 5_000;
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** `nextSocket` numbers the TCP connections, never two alike. */
function kubeletConnection(options: KubeletOptions, nextSocket: () => number): KubeletConnection {
  const agent = agentFor(options);
  const numbers = new WeakMap<Socket, number>();
  const numberOf = (socket: Socket): number => {
    const number = numbers.get(socket) ?? nextSocket();
    numbers.set(socket, number);
    return number;
  };
  return {
    get: async (path) => {
      const headers = authorization(options);
      const response = await request(new URL(path, options.url), { agent, headers });
      const socket = numberOf(response.socket);
      const body = await bodyOf(response);
      const { via, server } = response.headers;
      const proxy = [via, server].flat().find((name) => name !== undefined) ?? null;
      if (response.statusCode === 200) return { body, socket, proxy };
      throw new Error(refusal(response.statusCode ?? 0));
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

const KEEP_ALIVE = { keepAlive: true, maxSockets: 1, timeout: 60_000 } as const;

function agentFor({ url, caFile, serverName, certificateFile, keyFile }: KubeletOptions): Agent {
  if (url.startsWith('http:')) return new http.Agent(KEEP_ALIVE);
  return new https.Agent({
    ...KEEP_ALIVE,
    ...(caFile !== null && { ca: readFileSync(caFile) }),
    ...(serverName !== null && { servername: serverName }),
    ...(certificateFile !== null && { cert: readFileSync(certificateFile) }),
    ...(keyFile !== null && { key: readFileSync(keyFile) }),
  });
}

const authorization = ({ tokenFile }: KubeletOptions): Record<string, string> =>
  tokenFile === null ? {} : { authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}` };

function request(url: URL, options: https.RequestOptions): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { get } = url.protocol === 'https:' ? https : http;
  get(url, { ...options, signal: AbortSignal.timeout(TIMEOUT_MS) }, resolve).on('error', reject);
  return promise;
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    const part: Buffer = Buffer.from(chunk);
    bytes += part.length;
    if (bytes > MAX_BODY_BYTES) throw new Error(`its answer has more than ${MAX_BODY_BYTES} bytes`);
    chunks.push(part);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function refusal(status: number): string {
  if (status === 401)
    return 'it does not know us (401): give a token or a client certificate that it accepts';
  if (status === 403)
    return 'it knows us and refuses (403): we need the right to get nodes/proxy or nodes/pods';
  return `it answered with status ${status}`;
}
