import { lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { SimulatedNode } from '../../../lab/sim/node.ts';
import { CALL_TIMEOUTS, connectReader, connectRemover } from '../../../packages/cri/client.ts';
import { connect } from '../../../packages/cri/connection.ts';
import * as containerd from '../../../packages/cri/containerd/methods.ts';
import { connectContainerd } from '../../../packages/cri/containerd/reader.ts';
import { readListing } from '../../../packages/cri/listing.ts';
import { IMAGE_SERVICE, METHODS, RUNTIME_SERVICE } from '../../../packages/cri/methods.ts';
import {
  READING_PATHS,
  type ReadingProxySettings,
  serveReadingProxy,
} from '../../../packages/cri/proxy/reading-proxy.ts';
import { rawGrpcServer, silentServer } from '../../support/runtime/unix-socket-server.ts';
import { simulatedNode } from '../../support/simulated-node.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';

const BOUND_MS = 10_000;
/** As gRPC counts them. */
const STATUS = { OK: 0, DEADLINE_EXCEEDED: 4, NOT_FOUND: 5, PERMISSION_DENIED: 7, RESOURCE_EXHAUSTED: 8 };

/** A proxy of this test's own before a runtime. */
async function proxyBefore(endpoint: string, over: Partial<ReadingProxySettings> = {}) {
  const denied: string[] = [];
  const path = join(temporaryDirectory(), 'cri.sock');
  const proxy = await serveReadingProxy({
    socket: { path, mode: 0o600, groupId: null },
    endpoint,
    onDenied: (call) => denied.push(call),
    onRefused: () => undefined,
    ...over,
  });
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  return { path, denied, proxy };
}

/** What the socket answers to a call of any name: the status of gRPC and its sentence. */
async function answerTo(path: string, call: string, headers: Readonly<Record<string, string>> = {}) {
  const session = sessionAt(path);
  const stream = beginCall(session, call, headers);
  stream.end(Buffer.alloc(5));
  const answer = await answerOn(stream);
  session.close();
  return answer;
}

function sessionAt(path: string): ClientHttp2Session {
  const session = connectHttp2('http://localhost', { createConnection: () => connectSocket(path) });
  session.on('error', () => undefined);
  onTestFinished(() => session.destroy());
  return session;
}

const beginCall = (
  session: ClientHttp2Session,
  call: string,
  headers: Readonly<Record<string, string>> = {},
): ClientHttp2Stream =>
  session.request({
    ':method': 'POST',
    ':path': call,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });

async function answerOn(stream: ClientHttp2Stream) {
  stream.on('error', () => undefined);
  const told: Record<string, unknown> = {};
  stream.on('response', (answer) => Object.assign(told, answer));
  stream.on('trailers', (answer) => Object.assign(told, answer));
  stream.resume();
  await new Promise((resolve) => stream.on('close', resolve));
  return {
    code: Number(told['grpc-status']),
    sentence: decodeURI(String(told['grpc-message'] ?? '')),
  };
}

/** What a client of ours cannot send: a call with headers as somebody wrote them down. Resolves when the call was answered. */
async function rawCall(path: string, headers: readonly (readonly [string, string])[]): Promise<void> {
  const [HEADERS, SETTINGS, END_OF_BOTH] = [1, 4, 5];
  const frame = (type: number, flags: number, stream: number, body: Buffer): Buffer => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(body.length, 0, 3);
    head.writeUInt8(type, 3);
    head.writeUInt8(flags, 4);
    head.writeUInt32BE(stream, 5);
    return Buffer.concat([head, body]);
  };
  const text = (value: string): Buffer => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
  const block = headers.map(([name, value]) => Buffer.concat([Buffer.alloc(1), text(name), text(value)]));
  const socket = connectSocket(path);
  onTestFinished(() => void socket.destroy());
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(frame(SETTINGS, 0, 0, Buffer.alloc(0)));
  socket.write(frame(HEADERS, END_OF_BOTH, 1, Buffer.concat(block)));
  let answer = Buffer.alloc(0);
  socket.on('data', (data) => {
    answer = Buffer.concat([answer, data]);
  });
  const hasAnswered = (): boolean => {
    for (let at = 0; at + 9 <= answer.length; at += 9 + answer.readUIntBE(at, 3))
      if (answer.readUInt8(at + 3) === HEADERS) return true;
    return false;
  };
  await waitUntil('an answer to the call', BOUND_MS, hasAnswered);
}

/** A node with a running container, a dead one, and an image that nobody uses. */
async function usedNode(): Promise<SimulatedNode> {
  const node = await simulatedNode({ hasContainerdApi: true });
  await node.runtime.pullImage('registry.example/unused:1');
  node.runtime.otherContainers.set('by-hand', 'registry.example/unused:1');
  return node;
}

test('what is let through, by name: nothing of it changes anything', () => {
  expect([...READING_PATHS].toSorted()).toEqual(
    [
      ...['Version', 'Status', 'ListPodSandbox', 'PodSandboxStatus', 'ListContainers', 'ContainerStatus'].map(
        (name) => `/runtime.v1.RuntimeService/${name}`,
      ),
      '/runtime.v1.RuntimeService/GetContainerEvents',
      ...['ListImages', 'ImageStatus', 'ImageFsInfo'].map((name) => `/runtime.v1.ImageService/${name}`),
      '/runtime.v1alpha2.RuntimeService/Version',
      '/containerd.services.images.v1.Images/List',
      '/containerd.services.content.v1.Content/List',
      '/containerd.services.content.v1.Content/ListStatuses',
      '/containerd.services.containers.v1.Containers/ListStream',
      '/containerd.services.leases.v1.Leases/List',
      '/containerd.services.leases.v1.Leases/ListResources',
      '/containerd.services.snapshots.v1.Snapshots/List',
      '/containerd.services.snapshots.v1.Snapshots/Usage',
    ].toSorted(),
  );
});

test('whoever reads through it sees what whoever reads the runtime sees', async () => {
  const node = await usedNode();
  const { path, denied, proxy } = await proxyBefore(node.endpoint);
  const seen = async (endpoint: string) => {
    using reader = connectReader(endpoint);
    using beside = connectContainerd(endpoint);
    return {
      listing: await readListing(reader),
      status: await reader.status(),
      filesystems: await reader.imageFilesystems(),
      images: await beside.images(BOUND_MS),
      blobs: await beside.blobs(BOUND_MS),
      containers: await beside.otherContainers(BOUND_MS),
      leases: await beside.leases(BOUND_MS),
      ingests: await beside.ingests(BOUND_MS),
      snapshots: await beside.snapshots('overlayfs', BOUND_MS),
    };
  };

  const through = await seen(path);
  expect(through).toEqual(await seen(node.endpoint));
  expect(through.listing.status).toBe('complete');
  expect(through.containers).toHaveLength(1);
  expect(denied).toEqual([]);
  expect(proxy.problem()).toBeNull();
});

/** Every method that our definitions know and the proxy does not let through, and some of containerd that they do not know. */
const CHANGING = [
  ...[
    RUNTIME_SERVICE,
    IMAGE_SERVICE,
    containerd.IMAGES_SERVICE,
    containerd.CONTENT_SERVICE,
    containerd.CONTAINERS_SERVICE,
    containerd.LEASES_SERVICE,
    containerd.SNAPSHOTS_SERVICE,
  ].flatMap((service) => Object.values(service).map(({ path }) => path)),
  '/runtime.v1.RuntimeService/Exec',
  '/runtime.v1.RuntimeService/ExecSync',
  '/runtime.v1.RuntimeService/UpdateRuntimeConfig',
  '/runtime.v1alpha2.ImageService/RemoveImage',
  '/containerd.services.images.v1.Images/Delete',
  '/containerd.services.content.v1.Content/Delete',
  '/containerd.services.content.v1.Content/Read',
  '/containerd.services.containers.v1.Containers/Delete',
  '/containerd.services.leases.v1.Leases/Create',
  '/containerd.services.leases.v1.Leases/Delete',
  '/containerd.services.snapshots.v1.Snapshots/Remove',
  '/containerd.services.tasks.v1.Tasks/Kill',
  '/runtime.v1.ImageService/ListImages/../RemoveImage',
  '/runtime.v1.ImageService/listimages',
  '/',
].filter((path) => !READING_PATHS.has(path));

describe('nothing else is let through', () => {
  test('every other call of CRI and of containerd is denied, and the runtime never hears of it', async () => {
    const socket = join(temporaryDirectory(), 'runtime.sock');
    const heard = await rawGrpcServer(socket, () => ({ status: 0 }));
    const { path, denied } = await proxyBefore(socket);
    expect(CHANGING.length).toBeGreaterThan(20);
    for (const call of CHANGING)
      expect(await answerTo(path, call)).toEqual({
        code: STATUS.PERMISSION_DENIED,
        sentence: `${call} is not a reading call, and this socket is for reading only.`,
      });
    expect(denied).toEqual(CHANGING);
    expect(heard).toEqual([]);
  });

  test('who would remove through it is told so, and everything is still there', async () => {
    const node = await usedNode();
    const image = await node.runtime.pullImage('registry.example/app:1');
    const { path } = await proxyBefore(node.endpoint);
    using remover = connectRemover(path, CALL_TIMEOUTS);
    using connection = connect(path);
    const refusal = {
      code: 'RUNTIME_FAILED',
      message: expect.stringMatching(
        /: \/runtime\.v1\.\w+\/\w+ is not a reading call, and this socket is for reading only\.$/,
      ),
    };

    await expect(remover.removeImage(image)).rejects.toMatchObject(refusal);
    await expect(remover.removeContainer('c')).rejects.toMatchObject(refusal);
    await expect(remover.stopContainer('c', 0)).rejects.toMatchObject(refusal);
    await expect(remover.stopSandbox('s')).rejects.toMatchObject(refusal);
    await expect(remover.removeSandbox('s')).rejects.toMatchObject(refusal);
    const pull = {
      image: { image: 'registry.example/new:1', userSpecifiedImage: '', runtimeHandler: '', imageRef: '' },
    };
    await expect(connection.call(METHODS.pullImage, pull, BOUND_MS)).rejects.toMatchObject(refusal);
    const run = { config: null, runtimeHandler: '' };
    await expect(connection.call(METHODS.runPodSandbox, run, BOUND_MS)).rejects.toMatchObject(refusal);
    expect(await remover.listImages()).toHaveLength(3);
  });
});

describe('a call that is let through', () => {
  test('has its deadline at the runtime, and ends there when whoever asked goes away', async () => {
    const socket = join(temporaryDirectory(), 'runtime.sock');
    const calls = await rawGrpcServer(socket, () => 'nothing');
    const { path } = await proxyBefore(socket);
    using impatient = connectReader(path, { readMs: 200, removeImageMs: 200, removeMs: 200 });

    await expect(impatient.listImages()).rejects.toMatchObject({ code: 'RUNTIME_TIMEOUT' });
    expect(calls).toMatchObject([{ timeout: expect.stringMatching(/^\d+m$/) }]);
    await waitUntil('the call to be cancelled at the runtime', BOUND_MS, () => calls[0]?.cancelled);
  });

  test('gets the error of the runtime as it is', async () => {
    const socket = join(temporaryDirectory(), 'runtime.sock');
    await rawGrpcServer(socket, () => ({ status: STATUS.NOT_FOUND, details: 'no such container é' }));
    const { path } = await proxyBefore(socket);
    using reader = connectReader(path);

    await expect(reader.containerStatus('c')).rejects.toMatchObject({
      code: 'RUNTIME_NOT_FOUND',
      message: expect.stringContaining('no such container é'),
    });
  });

  test('has the bound of the client on its answer, and others are answered', async () => {
    const socket = join(temporaryDirectory(), 'runtime.sock');
    const large = Buffer.alloc(17 * 1024 * 1024);
    await rawGrpcServer(socket, (call) =>
      call.endsWith('ListImages') ? { status: 0, message: large } : { status: 0, message: Buffer.alloc(0) },
    );
    const { path } = await proxyBefore(socket);
    using reader = connectReader(path);

    await expect(reader.listImages()).rejects.toMatchObject({ code: 'RUNTIME_ANSWER_TOO_LARGE' });
    using another = connectReader(path);
    expect(await another.listSandboxes()).toEqual([]);
  });

  test.each([
    [['te', 'Trailers']],
    [
      ['te', 'trailers'],
      ['te', 'trailers'],
    ],
  ] as const)('is answered, and the proxy goes on, whatever headers it has: %j %j', async (...odd) => {
    const node = await usedNode();
    const { path } = await proxyBefore(node.endpoint);
    await rawCall(path, [
      [':method', 'POST'],
      [':scheme', 'http'],
      [':authority', 'localhost'],
      [':path', METHODS.version.definition.path],
      ['content-type', 'application/grpc'],
      ...odd.filter((header) => header !== undefined),
    ]);
    expect(await answerTo(path, METHODS.removeImage.definition.path)).toMatchObject({
      code: STATUS.PERMISSION_DENIED,
    });
  });

  test('is about the namespace of CRI alone, whatever it asks for', async () => {
    const node = await usedNode();
    const { path } = await proxyBefore(node.endpoint);
    const call = '/containerd.services.leases.v1.Leases/List';
    expect(await answerTo(path, call, { 'containerd-namespace': 'moby' })).toMatchObject({ code: STATUS.OK });
  });
});

describe('what one connection may ask for is bounded', () => {
  const LIST = METHODS.listImages.definition.path;
  const silentRuntime = async () => {
    const socket = join(temporaryDirectory(), 'runtime.sock');
    const calls = await rawGrpcServer(socket, () => 'nothing');
    return { socket, calls };
  };

  test('a request that is larger than any reading call is refused, and the call ends at the runtime', async () => {
    const { socket, calls } = await silentRuntime();
    const { path } = await proxyBefore(socket);
    const stream = beginCall(sessionAt(path), LIST);
    stream.write(Buffer.alloc(200 * 1024));

    expect(await answerOn(stream)).toEqual({
      code: STATUS.RESOURCE_EXHAUSTED,
      sentence: 'The request is larger than 65536 bytes.',
    });
    await waitUntil('the call to be cancelled at the runtime', BOUND_MS, () => calls[0]?.cancelled);
  });

  test.each([
    { call: LIST, code: STATUS.DEADLINE_EXCEEDED },
    { call: METHODS.removeImage.definition.path, code: STATUS.PERMISSION_DENIED },
  ])('a request that never ends takes no place of a connection for ever: $call', async ({ call, code }) => {
    const { socket } = await silentRuntime();
    const { path } = await proxyBefore(socket, { requestTimeoutMs: 100 });
    expect(await answerOn(beginCall(sessionAt(path), call))).toMatchObject({ code });
  });

  test('headers that no client of gRPC sends are refused, and others are answered', async () => {
    const { socket, calls } = await silentRuntime();
    const { path } = await proxyBefore(socket);
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, each) => [`x-${each}`, 'y']));
    const stream = beginCall(sessionAt(path), LIST, many);
    stream.end(Buffer.alloc(5));
    await answerOn(stream);

    expect(calls).toEqual([]);
    expect(await answerTo(path, METHODS.removeImage.definition.path)).toMatchObject({
      code: STATUS.PERMISSION_DENIED,
    });
  });

  test('a connection without a call is closed in time, and one that waits for events is not', async () => {
    const { socket, calls } = await silentRuntime();
    const { path } = await proxyBefore(socket, { idleTimeoutMs: 100 });
    const waiting = sessionAt(path);
    beginCall(waiting, METHODS.getContainerEvents.definition.path).end(Buffer.alloc(5));
    await waitUntil('the call to reach the runtime', BOUND_MS, () => calls.length === 1);
    for (let each = 0; each < 3; each++) {
      const idle = sessionAt(path);
      await waitUntil('the idle connection to be closed', BOUND_MS, () => idle.closed);
    }
    expect(waiting.closed).toBe(false);
  });

  test('a connection beyond the most is refused and reported', async () => {
    let refused = 0;
    const { socket } = await silentRuntime();
    const { path } = await proxyBefore(socket, {
      onRefused: () => {
        refused += 1;
      },
    });
    const sessions = Array.from({ length: 17 }, () => sessionAt(path));
    await waitUntil('a connection to be refused', BOUND_MS, () => refused === 1);
    expect(sessions.filter(({ destroyed }) => !destroyed).length).toBeGreaterThanOrEqual(16);
  });
});

describe('a runtime that is away', () => {
  test('is told to whoever asks, and found again when it is back', async () => {
    const node = await usedNode();
    const { path, proxy } = await proxyBefore(node.endpoint);
    using reader = connectReader(path);
    await reader.version();
    await node.die();

    await expect(reader.version()).rejects.toMatchObject({ code: 'RUNTIME_REFUSED' });
    expect(proxy.problem()).toMatch(/^the runtime at unix:.* does not answer: /);
    await node.revive();
    expect(await reader.listImages()).toHaveLength(2);
    expect(proxy.problem()).toBeNull();
  });

  test('that says nothing keeps the proxy from nothing else', async () => {
    const socket = join(temporaryDirectory(), 'runtime.sock');
    await silentServer(socket);
    const { path } = await proxyBefore(socket);
    using impatient = connectReader(path, { readMs: 200, removeImageMs: 200, removeMs: 200 });

    await expect(impatient.version()).rejects.toMatchObject({ code: 'RUNTIME_TIMEOUT' });
    expect(await answerTo(path, '/runtime.v1.ImageService/RemoveImage')).toMatchObject({
      code: STATUS.PERMISSION_DENIED,
    });
  });
});

describe('the socket', () => {
  const settings = (path: string, mode = 0o660, groupId: number | null = null) => ({
    socket: { path, mode, groupId },
  });

  test.each([0o600, 0o660])('has the permissions that were asked for: %o', async (mode) => {
    const path = join(temporaryDirectory(), 'cri.sock');
    await proxyBefore('/run/none.sock', settings(path, mode, process.getgid?.() ?? null));
    const { mode: has, gid } = lstatSync(path);
    expect(has & 0o777).toBe(mode);
    expect(gid).toBe(process.getgid?.());
  });

  test('takes the place of one that a killed process left behind, and goes with its own', async () => {
    const path = join(temporaryDirectory(), 'cri.sock');
    const first = await proxyBefore('/run/none.sock', settings(path));
    const second = await proxyBefore('/run/none.sock', settings(path));
    expect(lstatSync(path).isSocket()).toBe(true);
    await second.proxy[Symbol.asyncDispose]();
    expect(lstatSync(path, { throwIfNoEntry: false })).toBeUndefined();
    await first.proxy[Symbol.asyncDispose]();
  });

  test('takes the place of nothing else, and least of the socket of the runtime', async () => {
    const directory = temporaryDirectory();
    const file = join(directory, 'file');
    writeFileSync(file, 'kept');
    mkdirSync(join(directory, 'folder'));
    const node = await simulatedNode();
    for (const path of [file, join(directory, 'folder'), join(directory, 'none', 'cri.sock')])
      await expect(proxyBefore('/run/none.sock', settings(path))).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
      });
    const own = node.endpoint.replace('unix://', '');
    await expect(proxyBefore(node.endpoint, settings(own))).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(lstatSync(own).isSocket()).toBe(true);
    expect(lstatSync(file).size).toBe(4);
  });
});
