import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import {
  Client,
  credentials,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import {
  CONTAINERD_METHODS,
  CONTAINERS_SERVICE,
  CONTENT_SERVICE,
  IMAGES_SERVICE,
  LEASES_SERVICE,
  SNAPSHOTS_SERVICE,
} from '../../../../packages/cri/containerd/methods.ts';
import { serviceError } from '../../../../packages/cri/containerd/server.ts';
import { IMAGE_SERVICE, METHODS, RUNTIME_SERVICE } from '../../../../packages/cri/methods.ts';
import type { CriServer } from '../../../../packages/cri/server.ts';
import { socketPathOf } from '../../../../packages/cri/socket-path.ts';

/** What comes between a call and the runtime; `name` is the method's in the product's tables, and empty for others. */
export interface Between {
  /** Called before a stream begins. */
  readonly stream: (name: string) => Promise<void>;
  readonly call: (name: string, request: unknown, forward: () => Promise<unknown>) => Promise<unknown>;
}

type Method = MethodDefinition<unknown, unknown>;

const SERVICES: readonly ServiceDefinition[] = [
  RUNTIME_SERVICE,
  IMAGE_SERVICE,
  IMAGES_SERVICE,
  CONTENT_SERVICE,
  CONTAINERS_SERVICE,
  LEASES_SERVICE,
  SNAPSHOTS_SERVICE,
];
const NAMES: ReadonlyMap<string, string> = new Map(
  [...Object.entries(METHODS), ...Object.entries(CONTAINERD_METHODS)].map(([name, { definition }]) => [
    definition.path,
    name,
  ]),
);

/** Serves a real runtime on another socket, each message as it is, but for what comes between. */
export async function serveForwarded(
  socketPath: string,
  endpoint: string,
  between: Between,
): Promise<CriServer> {
  const client = new Client(`unix:${socketPathOf(endpoint)}`, credentials.createInsecure(), {
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 500,
  });
  const server = new Server();
  for (const service of SERVICES)
    server.addService(
      service,
      Object.fromEntries(
        Object.entries(service).map(([name, method]) => [
          name,
          method.responseStream ? streamed(client, method, between) : unary(client, method, between),
        ]),
      ),
    );
  await rm(socketPath, { force: true });
  await promisify(server.bindAsync.bind(server))(`unix:${socketPath}`, ServerCredentials.createInsecure());
  return {
    close: async () => {
      server.forceShutdown();
      client.close();
      await rm(socketPath, { force: true });
    },
  };
}

const nameOf = ({ path }: Method): string => NAMES.get(path) ?? '';

/** A call that its caller gave up goes on, as it does in the runtime. */
function unary(client: Client, method: Method, between: Between): handleUnaryCall<unknown, unknown> {
  return (call, answer) => {
    const forward = (): Promise<unknown> =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          method.path,
          method.requestSerialize,
          method.responseDeserialize,
          call.request,
          call.metadata.clone(),
          (error, response) => (error ? reject(error) : resolve(response)),
        );
      });
    between.call(nameOf(method), call.request, forward).then(
      (response) => answer(null, response),
      (error: unknown) => answer(toldError(error)),
    );
  };
}

function streamed(
  client: Client,
  method: Method,
  between: Between,
): handleServerStreamingCall<unknown, unknown> {
  return async (call) => {
    try {
      await between.stream(nameOf(method));
    } catch (error) {
      call.emit('error', toldError(error));
      return;
    }
    const stream = client.makeServerStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      call.request,
      call.metadata.clone(),
    );
    call.on('cancelled', () => stream.cancel());
    stream.on('data', (message) => call.write(message));
    stream.on('error', (error) => call.emit('error', toldError(error)));
    stream.on('end', () => call.end());
  };
}

/** An error of the runtime as the runtime told it. */
const toldError = (error: unknown): Pick<ServiceError, 'code' | 'details'> =>
  isServiceError(error) ? { code: error.code, details: error.details } : serviceError(error);

const isServiceError = (error: unknown): error is ServiceError =>
  error instanceof Error && 'details' in error && 'code' in error && typeof error.code === 'number';
