import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type handleServerStreamingCall, Server, ServerCredentials } from '@grpc/grpc-js';
import type { z } from 'zod';
import { type ContainerdHandlers, containerdServices, serviceError, unary } from './containerd/server.ts';
import { IMAGE_SERVICE, METHODS, RUNTIME_SERVICE } from './methods.ts';

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

/**
 * Serves CRI v1 on a unix socket, and where `containerd` is given its own API beside it. A socket file left there by a
 * crash is replaced.
 */
export async function serveCri(
  socketPath: string,
  handlers: CriHandlers,
  containerd: ContainerdHandlers | null = null,
): Promise<CriServer> {
  const server = new Server();
  const beside = containerd === null ? [] : containerdServices(containerd);
  for (const { definition, implementation } of beside) server.addService(definition, implementation);
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
