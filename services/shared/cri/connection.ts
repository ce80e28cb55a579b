import { Client, type ClientReadableStream, credentials, type ServiceError, status } from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/proto-loader';
import { z } from 'zod';
import { FleetGcError } from '../errors.ts';
import { type CallSite, callError, timedOut, unreadable } from './call-errors.ts';
import type { CriMethod } from './methods.ts';

/** The kubelet's own limit: a node with thousands of containers passes gRPC's 4 MB. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** One channel to one runtime. It connects when first used, and again by itself after the runtime restarted. */
export interface Connection extends Disposable {
  readonly socketPath: string;
  /** Gives up after `timeoutMs`, and tells the runtime so. */
  call<Request extends z.ZodType, Response extends z.ZodType>(
    method: CriMethod<Request, Response>,
    request: z.input<Request>,
    timeoutMs: number,
  ): Promise<z.output<Response>>;
  /** Stops waiting after `timeoutMs` but leaves the call running: half a removal is worse than a slow one. */
  callUncancelled<Request extends z.ZodType, Response extends z.ZodType>(
    method: CriMethod<Request, Response>,
    request: z.input<Request>,
    timeoutMs: number,
  ): Promise<z.output<Response>>;
  /** Ends quietly when `signal` aborts. */
  stream<Request extends z.ZodType, Response extends z.ZodType>(
    method: CriMethod<Request, Response>,
    request: z.input<Request>,
    signal: AbortSignal,
  ): AsyncIterable<z.output<Response>>;
}

/** `endpoint` is `unix:///run/containerd/containerd.sock` or the path alone. */
export function connect(endpoint: string): Connection {
  const socketPath = socketPathOf(endpoint);
  const client = new Client(`unix:${socketPath}`, credentials.createInsecure(), {
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    // A runtime that comes back is to be found soon; on a local socket an attempt costs nothing.
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 1_000,
    // Two clients of one process (agent and executor) must not share a channel's fate.
    'grpc.use_local_subchannel_pool': 1,
  });
  return {
    socketPath,
    call: (method, request, timeoutMs) =>
      unary({ client, socketPath }, method, request, Date.now() + timeoutMs),
    callUncancelled: (method, request, timeoutMs) =>
      withPatience(
        unary({ client, socketPath }, method, request, Number.POSITIVE_INFINITY),
        { socketPath, path: method.definition.path },
        timeoutMs,
      ),
    stream: (method, request, signal) => streamOf({ client, socketPath }, method, request, signal),
    [Symbol.dispose]: () => client.close(),
  };
}

export function socketPathOf(endpoint: string): string {
  const path = endpoint.replace(/^unix:(\/\/)?/, '');
  if (path.startsWith('/')) return path;
  throw new FleetGcError(
    'CONFIG_INVALID',
    `The runtime endpoint "${endpoint}" is neither unix:///path/to/socket nor an absolute path.`,
  );
}

interface Channel {
  readonly client: Client;
  readonly socketPath: string;
}

async function unary<Request extends z.ZodType, Response extends z.ZodType>(
  { client, socketPath }: Channel,
  { definition, response }: CriMethod<Request, Response>,
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
      { deadline },
      (error, value) => (value && !error ? resolve(value) : reject(error)),
    );
  }).catch(async (error: ServiceError) => {
    throw await callError(error, site);
  });
  return parsed(response, answer, site);
}

async function* streamOf<Request extends z.ZodType, Response extends z.ZodType>(
  { client, socketPath }: Channel,
  { definition, response }: CriMethod<Request, Response>,
  request: z.input<Request>,
  signal: AbortSignal,
): AsyncGenerator<z.output<Response>> {
  const site = { socketPath, path: definition.path };
  const call = openStream(client, definition, messageOf(request));
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
  client: Client,
  definition: MethodDefinition<object, object>,
  request: object,
): ClientReadableStream<object> =>
  client.makeServerStreamRequest(
    definition.path,
    (value: object) => definition.requestSerialize(value),
    definition.responseDeserialize,
    request,
  );

const isServiceError = (error: unknown): error is ServiceError =>
  error instanceof Error && 'code' in error && typeof error.code === 'number' && error.code in status;

function messageOf(request: unknown): object {
  if (typeof request === 'object' && request !== null) return request;
  throw new TypeError('a CRI request is a message');
}

function parsed<Response extends z.ZodType>(
  response: Response,
  answer: unknown,
  site: CallSite,
): z.output<Response> {
  const result = response.safeParse(answer);
  if (result.success) return result.data;
  throw unreadable(site, z.prettifyError(result.error));
}

async function withPatience<T>(call: Promise<T>, site: CallSite, timeoutMs: number): Promise<T> {
  const impatient = Promise.withResolvers<never>();
  const timer = setTimeout(() => impatient.reject(timedOut(site)), timeoutMs);
  try {
    return await Promise.race([call, impatient.promise]);
  } finally {
    clearTimeout(timer);
  }
}
