import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type { z } from 'zod';
import { FleetGcError, toFleetGcError } from '../errors.ts';
import { IMAGE_SERVICE, METHODS, RUNTIME_SERVICE } from './methods.ts';
import type { RpcMethod } from './rpc.ts';

type Methods = typeof METHODS;
/** Name of a CRI method as our table has it, e.g. `listImages`. */
export type CriMethodName = keyof Methods;
export type UnaryMethodName = Exclude<CriMethodName, 'getContainerEvents'>;
export type RequestOf<Name extends CriMethodName> = z.output<Methods[Name]['request']>;
export type ResponseOf<Name extends CriMethodName> = z.input<Methods[Name]['response']>;

/**
 * The answers of a CRI server. Throwing `RUNTIME_NOT_FOUND` or `RUNTIME_UNSUPPORTED` answers NOT_FOUND or
 * UNIMPLEMENTED; anything else UNKNOWN, as containerd does.
 */
export type CriHandlers = {
  readonly [Name in UnaryMethodName]: (request: RequestOf<Name>) => Promise<ResponseOf<Name>>;
} & { readonly getContainerEvents: (signal: AbortSignal) => AsyncIterable<ResponseOf<'getContainerEvents'>> };

export interface CriServer {
  /** Drops every call in hand, as a crash does, and removes the socket. */
  close(): Promise<void>;
}

/** Serves CRI v1 on a unix socket. A socket file left there by a crash is replaced. */
export async function serveCri(socketPath: string, handlers: CriHandlers): Promise<CriServer> {
  const server = new Server();
  server.addService(RUNTIME_SERVICE, runtimeService(handlers));
  server.addService(IMAGE_SERVICE, imageService(handlers));
  await rm(socketPath, { force: true });
  await promisify(server.bindAsync.bind(server))(`unix:${socketPath}`, ServerCredentials.createInsecure());
  return {
    close: async () => {
      server.forceShutdown();
      await rm(socketPath, { force: true });
    },
  };
}

const runtimeService = (handlers: CriHandlers) => ({
  Version: unary(METHODS.version, handlers.version),
  Status: unary(METHODS.status, handlers.status),
  RunPodSandbox: unary(METHODS.runPodSandbox, handlers.runPodSandbox),
  StopPodSandbox: unary(METHODS.stopPodSandbox, handlers.stopPodSandbox),
  RemovePodSandbox: unary(METHODS.removePodSandbox, handlers.removePodSandbox),
  PodSandboxStatus: unary(METHODS.podSandboxStatus, handlers.podSandboxStatus),
  ListPodSandbox: unary(METHODS.listPodSandbox, handlers.listPodSandbox),
  CreateContainer: unary(METHODS.createContainer, handlers.createContainer),
  StartContainer: unary(METHODS.startContainer, handlers.startContainer),
  StopContainer: unary(METHODS.stopContainer, handlers.stopContainer),
  RemoveContainer: unary(METHODS.removeContainer, handlers.removeContainer),
  ListContainers: unary(METHODS.listContainers, handlers.listContainers),
  ContainerStatus: unary(METHODS.containerStatus, handlers.containerStatus),
  GetContainerEvents: events(handlers.getContainerEvents),
});

const imageService = (handlers: CriHandlers) => ({
  ListImages: unary(METHODS.listImages, handlers.listImages),
  ImageStatus: unary(METHODS.imageStatus, handlers.imageStatus),
  PullImage: unary(METHODS.pullImage, handlers.pullImage),
  RemoveImage: unary(METHODS.removeImage, handlers.removeImage),
  ImageFsInfo: unary(METHODS.imageFsInfo, handlers.imageFsInfo),
});

function unary<Request extends z.ZodType, Response extends z.ZodType>(
  { request }: RpcMethod<Request, Response>,
  handle: (request: z.output<Request>) => Promise<z.input<Response>>,
): handleUnaryCall<unknown, z.input<Response>> {
  return (call, answer) => {
    Promise.resolve(call.request)
      .then((message) => handle(request.parse(message)))
      .then(
        (response) => answer(null, response),
        (error: unknown) => answer(serviceError(error)),
      );
  };
}

function events(
  handle: CriHandlers['getContainerEvents'],
): handleServerStreamingCall<unknown, ResponseOf<'getContainerEvents'>> {
  return async (call) => {
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort());
    try {
      for await (const event of handle(gone.signal)) call.write(event);
      call.end();
    } catch (error) {
      call.emit('error', serviceError(error));
    }
  };
}

function serviceError(error: unknown): Pick<ServiceError, 'code' | 'details'> {
  return { code: grpcStatus(error), details: toFleetGcError(error).message };
}

function grpcStatus(error: unknown): status {
  if (!(error instanceof FleetGcError)) return status.UNKNOWN;
  if (error.code === 'RUNTIME_NOT_FOUND') return status.NOT_FOUND;
  return error.code === 'RUNTIME_UNSUPPORTED' ? status.UNIMPLEMENTED : status.UNKNOWN;
}
