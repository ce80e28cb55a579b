import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type KubeletOptions, kubeletPodSource } from '../../../../packages/cri/kubelet/kubelet-pods.ts';
import type { PodSource } from '../../../../packages/cri/kubelet/pod-source.ts';
import { createTlsFiles } from '../../../support/kafka/tls-files.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const POD = {
  metadata: {
    uid: 'uid-1',
    name: 'web',
    namespace: 'default',
    annotations: { 'kubernetes.io/config.source': 'api' },
    labels: { app: 'web' },
  },
  spec: {
    containers: [{ name: 'app', image: 'app:1' }, { name: 'no-image-yet' }],
    initContainers: [{ name: 'init', image: 'init:1' }],
    ephemeralContainers: [{ name: 'debug', image: 'debug:1' }],
    volumes: [{ name: 'data' }, { name: 'model', image: { reference: 'model:1' } }],
  },
  status: { phase: 'Running' },
};

const podList =
  (...items: unknown[]): RequestListener =>
  (_request, response) => {
    response.end(JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items }));
  };

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

function sourceFor(url: string, over: Partial<KubeletOptions> = {}): PodSource {
  const files = { caFile: null, serverName: null, certificateFile: null, keyFile: null, tokenFile: null };
  const source = kubeletPodSource({ url, ...files, ...over });
  onTestFinished(() => source[Symbol.dispose]());
  return source;
}

/** A kubelet on a port of its own; `answer` may be replaced. */
async function kubelet(answer: RequestListener) {
  const state = { answer };
  const server = createServer((request, response) => state.answer(request, response));
  return { state, server, url: `http://127.0.0.1:${await listen(server)}` };
}

test('a pod in our words, with the images of all its containers and volumes', async () => {
  const { url } = await kubelet(podList(POD));
  expect((await sourceFor(url).list()).pods).toEqual([
    {
      uid: 'uid-1',
      name: 'web',
      namespace: 'default',
      phase: 'Running',
      deletionTimestamp: false,
      source: 'api',
      images: ['app:1', 'init:1', 'debug:1', 'model:1'],
      initContainers: ['init'],
      finished: false,
      evicted: false,
    },
  ]);
});

test.each([
  ['Evicted', true],
  ['NodeLost', false],
  [undefined, false],
])('[A8] a pod that failed for the reason %s was evicted by its kubelet: %s', async (reason, evicted) => {
  const { url } = await kubelet(podList({ ...POD, status: { phase: 'Failed', reason } }));
  expect((await sourceFor(url).list()).pods[0]).toMatchObject({ evicted, finished: true });
});

test.each([
  ['Pending', false],
  ['Running', false],
  ['Unknown', false],
  ['Succeeded', true],
  ['Failed', true],
])('[A8] a pod in phase %s is finished: %s', async (phase, finished) => {
  const { url } = await kubelet(podList({ ...POD, status: { phase } }));
  expect((await sourceFor(url).list()).pods[0]).toMatchObject({ phase, finished });
});

test('a pod with next to nothing: not yet reported, no source', async () => {
  const metadata = { uid: 'u', name: 'n', namespace: 'ns', deletionTimestamp: '2026-01-01T00:00:00Z' };
  const { url } = await kubelet(podList({ metadata, spec: {} }));
  expect((await sourceFor(url).list()).pods[0]).toMatchObject({
    phase: '',
    deletionTimestamp: true,
    source: '',
    images: [],
    finished: false,
    evicted: false,
  });
});

test('a list without pods is a list', async () => {
  const { url } = await kubelet((_request, response) => response.end('{"kind":"PodList","items":null}'));
  expect((await sourceFor(url).list()).pods).toEqual([]);
});

test('[A7] one kubelet process is one instance, another process another', async () => {
  const { url, server } = await kubelet(podList(POD));
  const source = sourceFor(url);
  const first = await source.list();
  expect((await source.list()).kubeletInstance).toBe(first.kubeletInstance);

  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  const again = createServer(podList(POD));
  await new Promise<void>((resolve) => again.listen(Number(new URL(url).port), '127.0.0.1', resolve));
  onTestFinished(() => {
    again.closeAllConnections();
    again.close();
  });
  const after = await listPatiently(source);
  expect(after.kubeletInstance).not.toBe(first.kubeletInstance);
});

/** The first call after a restart may still meet the old connection. */
const listPatiently = (source: PodSource) => source.list().catch(() => source.list());

test.each<[string, RequestListener, string]>([
  ['401', (_request, response) => response.writeHead(401).end(), 'it does not know us (401)'],
  ['403', (_request, response) => response.writeHead(403).end(), 'nodes/proxy'],
  ['500', (_request, response) => response.writeHead(500).end('oops'), 'it answered with status 500'],
  ['no JSON', (_request, response) => response.end('<html>'), 'JSON'],
  [
    'JSON of another kind',
    (_request, response) => response.end('{"kind":"NodeList","items":[]}'),
    'no list of pods',
  ],
  ['a pod without UID', podList({ ...POD, metadata: { name: 'a', namespace: 'b' } }), 'no list of pods'],
  [
    '[M28] an init container without a name',
    podList({ ...POD, spec: { initContainers: [{ image: 'init:1' }] } }),
    'no list of pods',
  ],
  [
    'half an answer',
    (_request, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{"kind":');
      response.destroy();
    },
    'cannot read the pods',
  ],
])(
  '[A8, K1] unreadable: %s, and the next answer counts as another process',
  async (_name, answer, message) => {
    const { url, state } = await kubelet(podList(POD));
    const source = sourceFor(url);
    const before = await source.list();
    state.answer = answer;
    await expect(source.list()).rejects.toMatchObject({
      code: 'PODS_UNREADABLE',
      message: expect.stringContaining(message),
    });
    state.answer = podList(POD);
    expect((await source.list()).kubeletInstance).not.toBe(before.kubeletInstance);
  },
);

test('nobody listens: unreadable', async () => {
  await expect(sourceFor('http://127.0.0.1:1').list()).rejects.toMatchObject({ code: 'PODS_UNREADABLE' });
});

test('the token is read from its file for each call', async () => {
  const seen: (string | undefined)[] = [];
  const { url } = await kubelet((request, response) => {
    seen.push(request.headers.authorization);
    podList(POD)(request, response);
  });
  const tokenFile = join(temporaryDirectory(), 'token');
  const source = sourceFor(url, { tokenFile });
  for (const token of ['first', 'second\n']) {
    writeFileSync(tokenFile, token);
    await source.list();
  }
  expect(seen).toEqual(['Bearer first', 'Bearer second']);
});

test('over TLS: who the kubelet is, and who we are', async () => {
  const files = await createTlsFiles(temporaryDirectory(), ['node-a']);
  const keyStore = readFileSync(files.serverKeyStore);
  const server = createTlsServer(
    {
      key: keyStore,
      cert: keyStore,
      ca: readFileSync(files.authority),
      requestCert: true,
      rejectUnauthorized: true,
    },
    podList(POD),
  );
  const url = `https://127.0.0.1:${await listen(server)}`;
  const client = { certificateFile: files.clientCertificate, keyFile: files.clientKey };
  const trusting = { caFile: files.authority, serverName: 'node-a' };

  expect((await sourceFor(url, { ...client, ...trusting }).list()).pods).toHaveLength(1);
  for (const wrong of [
    trusting,
    { ...client, ...trusting, caFile: files.otherAuthority },
    { ...client, ...trusting, serverName: 'node-b' },
    { ...client, caFile: files.authority },
    { ...client, caFile: null, serverName: 'node-a' },
  ]) {
    await expect(sourceFor(url, wrong).list()).rejects.toMatchObject({ code: 'PODS_UNREADABLE' });
  }
});
