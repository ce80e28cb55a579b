import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type { z } from 'zod';
import { FleetGcError, toFleetGcError } from '../process/errors.ts';
import type { RpcMethod } from './rpc.ts';

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
export function streamOfOne<Request extends z.ZodType, Response extends z.ZodType>(
  method: RpcMethod<Request, Response>,
  handle: (request: z.output<Request>) => Promise<z.input<Response>>,
): handleServerStreamingCall<unknown, z.input<Response>> {
  return streamOf(method, async (request) => [await handle(request)]);
}

/** As `unary`, of a method that answers with a stream of messages. */
export function streamOf<Request extends z.ZodType, Response extends z.ZodType>(
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
