import {
  type Client,
  type ClientReadableStream,
  type Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/proto-loader';
import { z } from 'zod';
import { type CallSite, callError, unreadable } from './call-errors.ts';
import type { RpcMethod } from './rpc.ts';

/** Where calls go. */
export interface Channel {
  readonly client: Client;
  readonly socketPath: string;
  readonly metadata: Metadata;
}

/** One request, one answer; `deadline` is a time of the wall clock in milliseconds. */
export async function unary<Request extends z.ZodType, Response extends z.ZodType>(
  { client, socketPath, metadata }: Channel,
  { definition, response }: RpcMethod<Request, Response>,
  request: z.input<Request>,
  deadline: number,
): Promise<z.output<Response>> {
  const site = { socketPath, path: definition.path };
  const answer = await new Promise<object>((resolve, reject) => {
    client.makeUnaryRequest(
      definition.path,
      (value: object) => definition.requestSerialize(value),
      definition.responseDeserialize,
      messageOf(request),
      metadata,
      { deadline },
      (error, value) => (value && !error ? resolve(value) : reject(error)),
    );
  }).catch(async (error: ServiceError) => {
    throw await callError(error, site);
  });
  return parsed(response, answer, site);
}

/** A stream ends quietly when `signal` aborts, and with an error at the deadline. */
export interface StreamEnd {
  readonly signal: AbortSignal;
  readonly deadline: number;
}

/** One request, and answers as they come. */
export async function* streamOf<Request extends z.ZodType, Response extends z.ZodType>(
  channel: Channel,
  { definition, response }: RpcMethod<Request, Response>,
  request: z.input<Request>,
  { signal, deadline }: StreamEnd,
): AsyncGenerator<z.output<Response>> {
  const site = { socketPath: channel.socketPath, path: definition.path };
  const call = openStream(channel, definition, messageOf(request), deadline);
  const cancel = () => call.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  if (signal.aborted) cancel();
  try {
    for await (const message of call) yield parsed(response, message, site);
  } catch (error) {
    if (signal.aborted) return;
    throw isServiceError(error) ? await callError(error, site) : error;
  } finally {
    signal.removeEventListener('abort', cancel);
    call.cancel();
  }
}

const openStream = (
  { client, metadata }: Channel,
  definition: MethodDefinition<object, object>,
  request: object,
  deadline: number,
): ClientReadableStream<object> =>
  client.makeServerStreamRequest(
    definition.path,
    (value: object) => definition.requestSerialize(value),
    definition.responseDeserialize,
    request,
    metadata,
    { deadline },
  );

const isServiceError = (error: unknown): error is ServiceError =>
  error instanceof Error && 'code' in error && typeof error.code === 'number' && error.code in status;

function messageOf(request: unknown): object {
  if (typeof request === 'object' && request !== null) return request;
  throw new TypeError('a request is a message');
}

function parsed<Response extends z.ZodType>(
  response: Response,
  answer: unknown,
  site: CallSite,
): z.output<Response> {
  const result = response.safeParse(answer);
  if (result.success) return result.data;
  throw unreadable(site, faultIn(result.error));
}

/** The first fault alone: of all that there may be nobody has room for. */
function faultIn({ issues }: z.ZodError): string {
  const [first] = issues;
  if (first === undefined) return 'it has no known fault';
  const where = z.core.toDotPath(first.path) || 'the answer';
  if (first.code === 'too_small')
    return `${where} ${first.message}. Ask the runtime with crictl for what has no id, and remove it there.`;
  return `${where} is not as CRI defines it (${first.message}).`;
}
