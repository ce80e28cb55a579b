import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  type ServiceDefinition,
  type ServiceError,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { z } from 'zod';
import { FleetGcError, toFleetGcError } from '../../process/errors.ts';
import type { RpcMethod } from '../rpc.ts';
import {
  CONTAINERS_SERVICE,
  CONTENT_SERVICE,
  IMAGES_SERVICE,
  LEASES_SERVICE,
  CONTAINERD_METHODS as METHODS,
  SNAPSHOTS_SERVICE,
} from './methods.ts';

type Methods = typeof METHODS;
/** Name of a method of containerd's own API as our table has it, e.g. `listContent`. */
export type ContainerdMethodName = keyof Methods;

/** The answers of containerd's own API; errors as with `CriHandlers`. */
export type ContainerdHandlers = {
  readonly [Name in Exclude<ContainerdMethodName, 'listStoredContainers'>]: (
    request: z.output<Methods[Name]['request']>,
  ) => Promise<z.input<Methods[Name]['response']>>;
} & {
  /** One message for each. */
  readonly listStoredContainers: (
    request: z.output<Methods['listStoredContainers']['request']>,
  ) => Promise<readonly z.input<Methods['listStoredContainers']['response']>[]>;
};

interface ServedService {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

export const containerdServices = (handlers: ContainerdHandlers): readonly ServedService[] => [
  {
    definition: IMAGES_SERVICE,
    implementation: { List: unary(METHODS.listStoredImages, handlers.listStoredImages) },
  },
  {
    definition: CONTENT_SERVICE,
    implementation: {
      List: streamOfOne(METHODS.listContent, handlers.listContent),
      ListStatuses: unary(METHODS.listIngests, handlers.listIngests),
    },
  },
  {
    definition: CONTAINERS_SERVICE,
    implementation: {
      ListStream: streamOf(METHODS.listStoredContainers, handlers.listStoredContainers),
    },
  },
  {
    definition: LEASES_SERVICE,
    implementation: {
      List: unary(METHODS.listLeases, handlers.listLeases),
      ListResources: unary(METHODS.listLeaseResources, handlers.listLeaseResources),
    },
  },
  {
    definition: SNAPSHOTS_SERVICE,
    implementation: {
      List: streamOfOne(METHODS.listSnapshots, handlers.listSnapshots),
      Usage: unary(METHODS.snapshotUsage, handlers.snapshotUsage),
    },
  },
];

/** Answers each call of a method with what `handle` resolves to. */
export function unary<Request extends z.ZodType, Response extends z.ZodType>(
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

/** As `unary`, of a method that answers with a stream: here of one message. */
function streamOfOne<Request extends z.ZodType, Response extends z.ZodType>(
  method: RpcMethod<Request, Response>,
  handle: (request: z.output<Request>) => Promise<z.input<Response>>,
): handleServerStreamingCall<unknown, z.input<Response>> {
  return streamOf(method, async (request) => [await handle(request)]);
}

/** As `unary`, of a method that answers with a stream of messages. */
function streamOf<Request extends z.ZodType, Response extends z.ZodType>(
  { request }: RpcMethod<Request, Response>,
  handle: (request: z.output<Request>) => Promise<readonly z.input<Response>[]>,
): handleServerStreamingCall<unknown, z.input<Response>> {
  return async (call) => {
    try {
      for (const message of await handle(request.parse(call.request))) call.write(message);
      call.end();
    } catch (error) {
      call.emit('error', serviceError(error));
    }
  };
}

/** How an error is told over gRPC. */
export function serviceError(error: unknown): Pick<ServiceError, 'code' | 'details'> {
  return { code: grpcStatus(error), details: toFleetGcError(error).message };
}

function grpcStatus(error: unknown): status {
  if (!(error instanceof FleetGcError)) return status.UNKNOWN;
  if (error.code === 'RUNTIME_NOT_FOUND') return status.NOT_FOUND;
  return error.code === 'RUNTIME_UNSUPPORTED' ? status.UNIMPLEMENTED : status.UNKNOWN;
}
