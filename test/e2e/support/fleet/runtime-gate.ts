import { dirname, join } from 'node:path';
import { z } from 'zod';
import { type Connection, connect } from '../../../../packages/cri/connection.ts';
import { METHODS } from '../../../../packages/cri/methods.ts';
import type { RpcMethod } from '../../../../packages/cri/rpc.ts';
import { type CriHandlers, serveCri } from '../../../../packages/cri/server.ts';
import { socketPathOf } from '../../../../packages/cri/socket-path.ts';
import { SOCKET_FOLDER } from '../../../support/nodes/node-socket.ts';
import type { RealNode } from '../../../support/nodes/real-node.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const SOCKET = 'gate.sock';
/** Where a process of the node finds the gate: `--runtime-endpoint`. */
export const GATE_ENDPOINT = `unix://${SOCKET_FOLDER}/${SOCKET}`;
const CALL_MS = 600_000;
const REACHED_MS = 60_000;

/** Stands between `fleetgc` and a real containerd, and passes everything on: so a test can act at the very moment of a removal. */
export interface RuntimeGate extends AsyncDisposable {
  /** What the image removals named that the runtime carried out. */
  removed(): readonly string[];
  /** Holds the next image removal: `before` the runtime hears of it, or `after` it is done and nobody knows it yet. */
  holdRemoval(side: Side): HeldRemoval;
  /** As when the runtime crashes: calls in hand break off, and the socket is gone. */
  break(): Promise<void>;
  mend(): Promise<void>;
}

export interface HeldRemoval {
  /** Resolves to what the held removal names. */
  reached(): Promise<string>;
  release(): void;
}

type Side = 'before' | 'after';

/** Opens a gate in front of the node's containerd. */
export async function openRuntimeGate(node: RealNode): Promise<RuntimeGate> {
  const connection = connect(node.endpoint);
  const removed: string[] = [];
  let held: (Hold & { readonly side: Side }) | null = null;
  const pass = async (side: Side, image: string): Promise<void> => {
    if (held?.side !== side) return;
    const hold = held;
    held = null;
    await hold.wait(image);
  };
  const handlers: CriHandlers = {
    ...passedOn(connection),
    removeImage: async (request) => {
      const image = request.image?.image ?? '';
      await pass('before', image);
      const answer = await forward(connection, METHODS.removeImage)(request);
      removed.push(image);
      await pass('after', image);
      return answer;
    },
  };
  const socketPath = join(dirname(socketPathOf(node.endpoint)), SOCKET);
  let server = await serveCri(socketPath, handlers);
  return {
    removed: () => removed,
    holdRemoval: (side) => {
      const hold = createHold(node.name);
      held = { ...hold, side };
      return hold;
    },
    break: () => server.close(),
    mend: async () => {
      server = await serveCri(socketPath, handlers);
    },
    [Symbol.asyncDispose]: async () => {
      await server.close();
      connection[Symbol.dispose]();
    },
  };
}

interface Hold extends HeldRemoval {
  /** Of the removal: tells that it is here, and waits to be released. */
  wait(image: string): Promise<void>;
}

function createHold(node: string): Hold {
  const released = Promise.withResolvers<void>();
  let reached: string | null = null;
  return {
    reached: () => waitUntil(`a removal of an image on ${node}`, REACHED_MS, () => reached),
    release: released.resolve,
    wait: async (image) => {
      reached = image;
      await released.promise;
    },
  };
}

/** One method as it is, without a look at its messages. */
const forward =
  <Request extends z.ZodType, Response extends z.ZodType>(
    { call }: Connection,
    { definition }: RpcMethod<Request, Response>,
  ) =>
  (request: z.output<Request>): Promise<z.input<Response>> => {
    const raw = {
      definition,
      request: z.custom<z.output<Request>>(),
      response: z.custom<z.input<Response>>(),
    };
    return call(raw, request, CALL_MS);
  };

const passedOn = (runtime: Connection): CriHandlers => ({
  version: forward(runtime, METHODS.version),
  status: forward(runtime, METHODS.status),
  runPodSandbox: forward(runtime, METHODS.runPodSandbox),
  stopPodSandbox: forward(runtime, METHODS.stopPodSandbox),
  removePodSandbox: forward(runtime, METHODS.removePodSandbox),
  podSandboxStatus: forward(runtime, METHODS.podSandboxStatus),
  listPodSandbox: forward(runtime, METHODS.listPodSandbox),
  createContainer: forward(runtime, METHODS.createContainer),
  startContainer: forward(runtime, METHODS.startContainer),
  stopContainer: forward(runtime, METHODS.stopContainer),
  removeContainer: forward(runtime, METHODS.removeContainer),
  listContainers: forward(runtime, METHODS.listContainers),
  containerStatus: forward(runtime, METHODS.containerStatus),
  listImages: forward(runtime, METHODS.listImages),
  imageStatus: forward(runtime, METHODS.imageStatus),
  pullImage: forward(runtime, METHODS.pullImage),
  removeImage: forward(runtime, METHODS.removeImage),
  imageFsInfo: forward(runtime, METHODS.imageFsInfo),
  getContainerEvents: (signal) => {
    const { definition, request } = METHODS.getContainerEvents;
    const response = z.custom<z.input<typeof METHODS.getContainerEvents.response>>();
    return runtime.stream({ definition, request, response }, {}, signal);
  },
});
