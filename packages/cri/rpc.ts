import { loadSync, type MethodDefinition } from '@grpc/proto-loader';
import type { z } from 'zod';

/** One method of a gRPC service: where it is on the wire, and what its messages are. */
export interface RpcMethod<Request extends z.ZodType, Response extends z.ZodType> {
  readonly definition: MethodDefinition<object, object>;
  readonly request: Request;
  readonly response: Response;
}

export type RpcService = Readonly<Record<string, MethodDefinition<object, object>>>;

/** Reads a `.proto` file; its services are had by their full names. */
export function rpcServices(proto: URL): (fullName: string) => RpcService {
  const definitions = loadSync(proto.pathname, { longs: String, enums: String, defaults: true });
  return (fullName) => {
    const definition = definitions[fullName];
    if (definition && !('format' in definition)) return definition;
    throw new TypeError(`${proto.pathname} has no service ${fullName}`);
  };
}

export function rpcMethod<Request extends z.ZodType, Response extends z.ZodType>(
  service: RpcService,
  name: string,
  request: Request,
  response: Response,
): RpcMethod<Request, Response> {
  const definition = service[name];
  if (definition) return { definition, request, response };
  throw new TypeError(`there is no method ${name} among ${Object.keys(service).join(', ')}`);
}
