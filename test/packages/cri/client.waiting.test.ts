import { linkSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  CALL_TIMEOUTS,
  type CallTimeouts,
  connectReader,
  connectRemover,
} from '../../../packages/cri/client.ts';
import { connect, MAX_ANSWER_BYTES } from '../../../packages/cri/connection.ts';
import { CONTAINERD_METHODS } from '../../../packages/cri/containerd/methods.ts';
import type { RuntimeRemover } from '../../../packages/cri/port.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { patiently } from '../../support/patience.ts';
import { plainHttpServer, rawGrpcServer, silentServer } from '../../support/runtime/unix-socket-server.ts';
import { simulatedNode } from '../../support/simulated-node.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';

const IMPATIENT: CallTimeouts = { readMs: 100, removeImageMs: 100, removeMs: 100 };

function remover(endpoint: string, timeouts: CallTimeouts = CALL_TIMEOUTS) {
  const connected = connectRemover(endpoint, timeouts);
  onTestFinished(() => connected[Symbol.dispose]());
  return connected;
}

const socketIn = (directory: string): string => join(directory, 'cri.sock');

/** A socket file that its process left behind. */
async function abandonedSocket(path: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  // Closing unlinks the file, which a killed process has no time for.
  linkSync(path, `${path}.kept`);
  await new Promise((resolve) => server.close(resolve));
  renameSync(`${path}.kept`, path);
}

describe('a runtime that cannot be reached is a clear error', () => {
  test('no socket', async () => {
    const endpoint = socketIn(temporaryDirectory());
    await expect(remover(endpoint).version()).rejects.toMatchObject({
      code: 'RUNTIME_MISSING',
      message: expect.stringContaining(endpoint),
    });
  });

  test('no directory', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    await expect(remover(join(file, 'cri.sock')).version()).rejects.toMatchObject({
      code: 'RUNTIME_MISSING',
    });
  });

  test('a socket that nobody listens to', async () => {
    const path = socketIn(temporaryDirectory());
    await abandonedSocket(path);
    await expect(remover(path).version()).rejects.toMatchObject({ code: 'RUNTIME_REFUSED' });
  });

  test('a file that is no socket', async () => {
    const path = socketIn(temporaryDirectory());
    writeFileSync(path, '');
    await expect(remover(path).version()).rejects.toMatchObject({ code: 'RUNTIME_REFUSED' });
  });

  test('a directory', async () => {
    const path = temporaryDirectory();
    await expect(remover(path).version()).rejects.toMatchObject({
      code: 'RUNTIME_REFUSED',
      message: expect.stringContaining('is a directory'),
    });
  });

  test('a server that takes the connection and says nothing', async () => {
    const path = socketIn(temporaryDirectory());
    await silentServer(path);
    await expect(remover(path, IMPATIENT).version()).rejects.toMatchObject({ code: 'RUNTIME_TIMEOUT' });
  });

  test('a server that speaks HTTP/1', async () => {
    const path = socketIn(temporaryDirectory());
    await plainHttpServer(path);
    await expect(remover(path).version()).rejects.toMatchObject({ code: 'RUNTIME_REFUSED' });
  });

  test.each(['tcp://127.0.0.1:1', 'cri.sock', 'unix://cri.sock', ''])('an endpoint like "%s"', (endpoint) => {
    expect(() => connectReader(endpoint)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});

describe('a runtime that speaks something else is a clear error', () => {
  test('gRPC without CRI', async () => {
    const path = socketIn(temporaryDirectory());
    await rawGrpcServer(path, () => ({ status: 12, details: 'unknown service' }));
    await expect(remover(path).version()).rejects.toMatchObject({
      code: 'RUNTIME_UNSUPPORTED',
      message: expect.stringContaining('CRI plugin'),
    });
  });

  test('CRI v1alpha2 only', async () => {
    const path = socketIn(temporaryDirectory());
    await rawGrpcServer(path, (method) =>
      method.startsWith('/runtime.v1alpha2.')
        ? { status: 0, message: Buffer.alloc(0) }
        : { status: 12, details: 'unknown service runtime.v1.RuntimeService' },
    );
    await expect(remover(path).version()).rejects.toMatchObject({
      code: 'RUNTIME_UNSUPPORTED',
      message: expect.stringContaining('speaks only CRI v1alpha2'),
    });
  });

  test.each<{ name: string; message: Buffer }>([
    { name: 'an image without id', message: Buffer.from([0x0a, 0x00]) },
    // items = 1 { id = 1 "s", state = 3 varint 9 }
    { name: 'bytes that are no message', message: Buffer.from([0xff, 0xff]) },
  ])('$name', async ({ message }) => {
    const path = socketIn(temporaryDirectory());
    await rawGrpcServer(path, () => ({ status: 0, message }));
    await expect(remover(path).listImages()).rejects.toMatchObject({ code: 'RUNTIME_FAILED' });
  });

  test('a sandbox in a state that we do not know', async () => {
    const path = socketIn(temporaryDirectory());
    const sandbox = Buffer.from([0x0a, 0x01, 0x73, 0x18, 0x09]);
    const message = Buffer.concat([Buffer.from([0x0a, sandbox.length]), sandbox]);
    await rawGrpcServer(path, () => ({ status: 0, message }));
    await expect(remover(path).listSandboxes()).rejects.toMatchObject({
      code: 'RUNTIME_FAILED',
      message: expect.stringContaining('state'),
    });
  });
});

const CONTAINER = '4'.repeat(64);

describe('a call that fails has the code of its cause', () => {
  test.each([
    { status: 2, code: 'RUNTIME_FAILED' },
    { status: 5, code: 'RUNTIME_NOT_FOUND' },
    { status: 8, code: 'RUNTIME_ANSWER_TOO_LARGE' },
    { status: 12, code: 'RUNTIME_UNSUPPORTED' },
    { status: 13, code: 'RUNTIME_FAILED' },
    { status: 14, code: 'RUNTIME_REFUSED' },
  ])('gRPC status $status is $code', async ({ status, code }) => {
    const path = socketIn(temporaryDirectory());
    await rawGrpcServer(path, () => ({ status, details: 'because' }));
    await expect(remover(path).listImages()).rejects.toMatchObject({
      code,
      message: expect.stringContaining('because'),
    });
  });

  test('an answer in many messages has a bound for all of them together', async () => {
    const path = socketIn(temporaryDirectory());
    // A field that nobody knows, 8 MiB long.
    const message = Buffer.concat([Buffer.from([0x7a, 0x80, 0x80, 0x80, 0x04]), Buffer.alloc(2 ** 23)]);
    const times = Math.ceil(MAX_ANSWER_BYTES / message.length) + 1;
    await rawGrpcServer(path, () => ({ status: 0, message, times }));
    using connection = connect(path);
    const answer = connection.collect(CONTAINERD_METHODS.listContent, {}, patiently(CALL_TIMEOUTS.readMs));
    await expect(answer).rejects.toMatchObject({ code: 'RUNTIME_ANSWER_TOO_LARGE' });
  });

  test.each([
    { details: `Image used by ${CONTAINER}: image is in use by a container`, code: 'RUNTIME_IMAGE_IN_USE' },
    {
      details: `delete image: image used by ${CONTAINER}: image is in use by a container`,
      code: 'RUNTIME_IMAGE_IN_USE',
    },
    { details: `the image is in use by ${CONTAINER}`, code: 'RUNTIME_IMAGE_IN_USE' },
    { details: 'delete image: identifier is not an image', code: 'RUNTIME_FAILED' },
    { details: 'nobody knows whether the image is in use by somebody', code: 'RUNTIME_FAILED' },
  ])('CRI-O refuses to remove an image as UNKNOWN, and only its words tell: $details', async (refusal) => {
    const path = socketIn(temporaryDirectory());
    await rawGrpcServer(path, () => ({ status: 2, details: refusal.details }));
    await expect(remover(path).removeImage('a')).rejects.toMatchObject({ code: refusal.code });
  });

  test('a status without a status', async () => {
    const path = socketIn(temporaryDirectory());
    await rawGrpcServer(path, () => ({ status: 0, message: Buffer.alloc(0) }));
    await expect(remover(path).containerStatus('c')).rejects.toMatchObject({ code: 'RUNTIME_FAILED' });
    await expect(remover(path).sandboxStatus('s')).rejects.toMatchObject({ code: 'RUNTIME_FAILED' });
  });
});

describe('numbers are exact [D6]', () => {
  test('sizes and times past 2^53', async () => {
    const node = await simulatedNode({ clock: manualClock({ wallTimeMs: Date.UTC(2026, 0, 1) + 1 }) });
    const sizeBytes = 2n ** 63n - 1n;
    await node.kubelet.startPod({ name: 'p', namespace: 'n', containers: { c: 'app:1' } });
    node.runtime.addImage({
      id: 'sha256:big',
      repoTags: [],
      repoDigests: [],
      sizeBytes,
      pinned: false,
      isPulled: true,
      labels: {},
    });
    const reader = remover(node.endpoint);
    expect((await reader.listImages()).find(({ id }) => id === 'sha256:big')?.sizeBytes).toBe(sizeBytes);
    expect((await reader.listContainers())[0]?.createdAtNs).toBe(1_767_225_600_001_000_000n);
  });

  test('an image without an id is told in a sentence, with its place in the list', async () => {
    const node = await simulatedNode();
    node.runtime.addImage({
      id: '',
      repoTags: [],
      repoDigests: [],
      sizeBytes: 0n,
      pinned: false,
      isPulled: true,
      labels: {},
    });
    await expect(remover(node.endpoint).listImages()).rejects.toMatchObject({
      code: 'RUNTIME_FAILED',
      message: expect.stringMatching(
        /ListImages .*cannot read, so it removes nothing: images\[1\]\.id is empty\. Ask the runtime/,
      ),
    });
  });

  test('an answer of more than gRPC takes by default is read', async () => {
    const node = await simulatedNode();
    const repoTags = ['a', 'b', 'c'].map((letter) => `registry.example/${letter.repeat(2_000_000)}:1`);
    node.runtime.addImage({
      id: 'sha256:tags',
      repoTags,
      repoDigests: [],
      sizeBytes: 1n,
      pinned: false,
      isPulled: true,
      labels: {},
    });
    expect(await remover(node.endpoint).listImages()).toHaveLength(2);
  });
});

describe('a call that takes too long', () => {
  test('is cancelled in the runtime when it only reads', async () => {
    const path = socketIn(temporaryDirectory());
    const calls = await rawGrpcServer(path, () => 'nothing');
    const runtime = remover(path, IMPATIENT);
    // On a busy machine the time of a call may be over before the runtime hears of it.
    await waitUntil('the runtime to hear of a call, and of its end', 5_000, async () => {
      await expect(runtime.listImages()).rejects.toMatchObject({ code: 'RUNTIME_TIMEOUT' });
      return calls.some(({ cancelled }) => cancelled);
    });
    expect(calls[0]?.timeout).toMatch(/^\d+m$/);
  });

  test.each<{ name: string; remove: (runtime: RuntimeRemover) => Promise<void> }>([
    { name: 'removeImage', remove: (runtime) => runtime.removeImage('i') },
    { name: 'stopContainer', remove: (runtime) => runtime.stopContainer('c', 0) },
    { name: 'removeContainer', remove: (runtime) => runtime.removeContainer('c') },
    { name: 'stopSandbox', remove: (runtime) => runtime.stopSandbox('s') },
    { name: 'removeSandbox', remove: (runtime) => runtime.removeSandbox('s') },
  ])('goes on in the runtime when it is $name', async ({ remove }) => {
    const path = socketIn(temporaryDirectory());
    const calls = await rawGrpcServer(path, () => 'nothing');
    const runtime = remover(path, IMPATIENT);
    await expect(remove(runtime)).rejects.toMatchObject({ code: 'RUNTIME_TIMEOUT' });
    await expect(runtime.listImages()).rejects.toMatchObject({ code: 'RUNTIME_TIMEOUT' });
    await waitUntil('the second call to be cancelled', 5_000, () => calls[1]?.cancelled === true);
    expect(calls[0]).toEqual({ timeout: undefined, cancelled: false });
  });
});

describe('labels of an image [M11]', () => {
  // image = 1 { id = 1 "i" }, info = 2 { key = 1 "info", value = 2 <text> }
  const status = (info: string): Buffer => {
    const value = Buffer.from(info);
    const entry = Buffer.concat([
      Buffer.from([0x0a, 4]),
      Buffer.from('info'),
      Buffer.from([0x12, value.length]),
      value,
    ]);
    return Buffer.concat([Buffer.from([0x0a, 3, 0x0a, 1, 0x69, 0x12, entry.length]), entry]);
  };

  test.each([
    { info: '{"imageSpec":{"config":{"Labels":{"tier":"base"}}}}', labels: { tier: 'base' } },
    { info: '{"imageSpec":{"config":{"Labels":null}}}', labels: {} },
    { info: '{"imageSpec":{"config":{}}}', labels: {} },
    { info: '{"imageSpec":{}}', labels: {} },
    { info: '{"imageSpec":{"config":{"Labels":"text"}}}', labels: null },
    { info: '{}', labels: null },
    { info: 'failed to marshal', labels: null },
  ])('are read from $info', async ({ info, labels }) => {
    const path = socketIn(temporaryDirectory());
    await rawGrpcServer(path, () => ({ status: 0, message: status(info) }));
    expect(await remover(path).imageLabels('i')).toEqual(labels);
  });

  test('are not found where the image is not', async () => {
    const path = socketIn(temporaryDirectory());
    await rawGrpcServer(path, () => ({ status: 0, message: Buffer.alloc(0) }));
    await expect(remover(path).imageLabels('i')).rejects.toMatchObject({ code: 'RUNTIME_NOT_FOUND' });
  });
});

test('the reading half cannot remove', () => {
  const reader = connectReader('/nowhere.sock');
  onTestFinished(() => reader[Symbol.dispose]());
  expect(Object.keys(reader).filter((name) => /remove|stop/i.test(name))).toEqual([]);
});

test('the connection comes back with the runtime', async () => {
  const node = await simulatedNode();
  const reader = remover(node.endpoint);
  await reader.version();
  await node.die();
  await expect(reader.version()).rejects.toMatchObject({ code: 'RUNTIME_MISSING' });
  await node.revive();
  await waitUntil('an answer of the runtime that came back', 5_000, () => reader.version());
});

test('a call in hand when the runtime dies fails clearly', async () => {
  const node = await simulatedNode();
  const reader = remover(node.endpoint);
  await reader.version();
  node.faults.onCall('listImages', { kind: 'hang' });
  const call = reader.listImages();
  const outcome = expect(call).rejects.toMatchObject({
    code: expect.stringMatching(/RUNTIME_(MISSING|REFUSED)/),
  });
  await waitUntil('the call to have reached the runtime', 5_000, () => node.faults.hanging() === 1);
  await node.die();
  await outcome;
});
