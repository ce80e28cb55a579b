import { existsSync } from 'node:fs';
import type { z } from 'zod';
import type { SimulatedNode } from '../../../lab/sim/node.ts';
import { CALL_TIMEOUTS, readerOver, removerOver } from '../../../packages/cri/client.ts';
import type { Connection } from '../../../packages/cri/connection.ts';
import { METHODS } from '../../../packages/cri/methods.ts';
import type { RuntimeReader, RuntimeRemover } from '../../../packages/cri/port.ts';
import type { RpcMethod } from '../../../packages/cri/rpc.ts';
import type { CriHandlers } from '../../../packages/cri/server.ts';
import { socketPathOf } from '../../../packages/cri/socket-path.ts';
import { FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';

/**
 * Reads a simulated node and removes from it without HTTP/2 in between, which costs most of the time of a test that lives
 * through an hour. Messages are written and read as on the wire. A call that hangs has no deadline here.
 */
export function directRuntime(node: SimulatedNode): RuntimeReader & RuntimeRemover {
  const connection = directConnection(node);
  return { ...readerOver(connection, CALL_TIMEOUTS), ...removerOver(connection, CALL_TIMEOUTS) };
}

function directConnection({ endpoint, cri }: SimulatedNode): Connection {
  const socketPath = socketPathOf(endpoint);
  const answers = answersOf(cri);
  const call: Connection['call'] = async ({ definition, response }, request) => {
    const answer = answers.get(definition.path);
    if (!answer) throw new FleetGcError('RUNTIME_UNSUPPORTED', `${definition.path} is not offered here`);
    if (!existsSync(socketPath)) throw new FleetGcError('RUNTIME_MISSING', `no socket at ${socketPath}`);
    const sent = definition.requestDeserialize(definition.requestSerialize(asMessage(request)));
    const answered = await answer(sent).catch((error: unknown) => {
      throw asCalled(error, definition.path);
    });
    return response.parse(definition.responseDeserialize(definition.responseSerialize(asMessage(answered))));
  };
  return {
    socketPath,
    call,
    callUncancelled: call,
    stream: async function* ({ response }, _request, signal) {
      for await (const event of cri.getContainerEvents(signal)) yield response.parse(event);
    },
    collect: () => Promise.reject(new TypeError('no method of CRI has a stream that ends')),
    [Symbol.dispose]: () => undefined,
  };
}

type Answer = (message: unknown) => Promise<unknown>;

function answerTo<Request extends z.ZodType, Response extends z.ZodType>(
  { definition, request }: RpcMethod<Request, Response>,
  handle: (request: z.output<Request>) => Promise<z.input<Response>>,
): [path: string, answer: Answer] {
  return [definition.path, async (message) => handle(request.parse(message))];
}

const answersOf = (cri: CriHandlers): ReadonlyMap<string, Answer> =>
  new Map([
    answerTo(METHODS.version, cri.version),
    answerTo(METHODS.status, cri.status),
    answerTo(METHODS.imageFsInfo, cri.imageFsInfo),
    answerTo(METHODS.listImages, cri.listImages),
    answerTo(METHODS.imageStatus, cri.imageStatus),
    answerTo(METHODS.removeImage, cri.removeImage),
    answerTo(METHODS.listContainers, cri.listContainers),
    answerTo(METHODS.containerStatus, cri.containerStatus),
    answerTo(METHODS.stopContainer, cri.stopContainer),
    answerTo(METHODS.removeContainer, cri.removeContainer),
    answerTo(METHODS.listPodSandbox, cri.listPodSandbox),
    answerTo(METHODS.podSandboxStatus, cri.podSandboxStatus),
    answerTo(METHODS.stopPodSandbox, cri.stopPodSandbox),
    answerTo(METHODS.removePodSandbox, cri.removePodSandbox),
  ]);

function asMessage(value: unknown): object {
  if (typeof value === 'object' && value !== null) return value;
  throw new TypeError('a message is an object');
}

/** What the client makes of an error that came over the wire: a code of its own for two of them. */
function asCalled(error: unknown, path: string): FleetGcError {
  const told = toFleetGcError(error);
  const isKnown = told.code === 'RUNTIME_NOT_FOUND' || told.code === 'RUNTIME_UNSUPPORTED';
  return isKnown
    ? told
    : new FleetGcError('RUNTIME_FAILED', `the runtime failed in ${path}: ${told.message}`);
}
