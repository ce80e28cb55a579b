import { lstat } from 'node:fs/promises';
import {
  Client,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/proto-loader';
import { z } from 'zod';
import { FleetGcError } from '../process/errors.ts';
import { unreadableReason } from '../process/options/named-file.ts';
import { deniedText, systemCode } from '../process/system-problem.ts';
import type { RpcMethod } from './rpc.ts';
import { socketPathOf } from './socket-path.ts';

/**
 * The kubelet's own limit: a node with thousands of containers passes gRPC's 4 MB.
 * @limit Size of one CRI response.
 */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** Of all messages of one answer. A blob or snapshot with its labels takes up to a few kilobytes, so there is room for a hundred thousand. */
export const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

/** One channel to one runtime. It connects when first used, and again by itself after the runtime restarted. */
export interface Connection extends Disposable {
  readonly socketPath: string;
  /** Gives up after `timeoutMs`, and tells the runtime so. */
  call<Request extends z.ZodType, Response extends z.ZodType>(
    method: RpcMethod<Request, Response>,
    request: z.input<Request>,
    timeoutMs: number,
  ): Promise<z.output<Response>>;
  /** Stops waiting after `timeoutMs` but leaves the call running: half a removal is worse than a slow one. */
  callUncancelled<Request extends z.ZodType, Response extends z.ZodType>(
    method: RpcMethod<Request, Response>,
    request: z.input<Request>,
    timeoutMs: number,
  ): Promise<z.output<Response>>;
  /** Ends quietly when `signal` aborts. */
  stream<Request extends z.ZodType, Response extends z.ZodType>(
    method: RpcMethod<Request, Response>,
    request: z.input<Request>,
    signal: AbortSignal,
  ): AsyncIterable<z.output<Response>>;
  /** All messages of a stream that ends by itself. Gives up after `timeoutMs`, and tells the runtime so. */
  collect<Request extends z.ZodType, Response extends z.ZodType>(
    method: RpcMethod<Request, Response>,
    request: z.input<Request>,
    timeoutMs: number,
  ): Promise<readonly z.output<Response>[]>;
}

/** `endpoint` is `unix:///run/containerd/containerd.sock` or the path alone; `headers` go with each call. */
export function connect(endpoint: string, headers: Readonly<Record<string, string>> = {}): Connection {
  const socketPath = socketPathOf(endpoint);
  const client = new Client(`unix:${socketPath}`, credentials.createInsecure(), {
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    // A runtime that comes back is to be found soon; on a local socket an attempt costs nothing.
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 1_000,
    // Two clients of one process (agent and executor) must not share a channel's fate.
    'grpc.use_local_subchannel_pool': 1,
  });
  const channel = { client, socketPath, metadata: metadataOf(headers) };
  return {
    socketPath,
    call: (method, request, timeoutMs) => unary(channel, method, request, Date.now() + timeoutMs),
    callUncancelled: (method, request, timeoutMs) =>
      withPatience(
        unary(channel, method, request, NO_DEADLINE),
        { socketPath, path: method.definition.path },
        timeoutMs,
      ),
    stream: (method, request, signal) =>
      streamOf(channel, method, request, { signal, deadline: NO_DEADLINE }),
    collect: async (method, request, timeoutMs) => {
      const { definition } = method;
      let bytes = 0;
      const responseDeserialize = (value: Buffer): object => {
        bytes += value.length;
        return definition.responseDeserialize(value);
      };
      const counted = { ...method, definition: { ...definition, responseDeserialize } };
      const end = { signal: NEVER, deadline: Date.now() + timeoutMs };
      const messages = [];
      for await (const message of streamOf(channel, counted, request, end)) {
        if (bytes > MAX_ANSWER_BYTES) throw tooMuch({ socketPath, path: definition.path }, MAX_ANSWER_BYTES);
        messages.push(message);
      }
      return messages;
    },
    [Symbol.dispose]: () => client.close(),
  };
}

const NO_DEADLINE = Number.POSITIVE_INFINITY;
const NEVER = new AbortController().signal;

function metadataOf(headers: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
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

/** Where calls go. */
interface Channel {
  readonly client: Client;
  readonly socketPath: string;
  readonly metadata: Metadata;
}

/** One request, one answer; `deadline` is a time of the wall clock in milliseconds. */
async function unary<Request extends z.ZodType, Response extends z.ZodType>(
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
interface StreamEnd {
  readonly signal: AbortSignal;
  readonly deadline: number;
}

/** One request, and answers as they come. */
async function* streamOf<Request extends z.ZodType, Response extends z.ZodType>(
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

/** What was called, for the sentence. */
interface CallSite {
  readonly socketPath: string;
  /** `/<package>.<Service>/<Method>` */
  readonly path: string;
}

/** Gives a failed call its code and a sentence for the operator. */
async function callError(error: ServiceError, site: CallSite): Promise<FleetGcError> {
  const { socketPath, path } = site;
  switch (error.code) {
    case status.UNAVAILABLE:
    // We cancel no call: the runtime dropped it on its way down.
    case status.CANCELLED:
      return unavailable(error, site);
    case status.DEADLINE_EXCEEDED:
      return timedOut(site, error);
    case status.NOT_FOUND:
      return new FleetGcError('RUNTIME_NOT_FOUND', `${path}: ${error.details}`, { cause: error });
    case status.UNIMPLEMENTED:
      return new FleetGcError(
        'RUNTIME_UNSUPPORTED',
        `The runtime at ${socketPath} does not offer ${path} (${error.details}). FleetGC needs CRI v1: containerd 1.6 or CRI-O 1.23 or later, with the CRI plugin not disabled.`,
        { cause: error },
      );
    // Either side has a limit.
    case status.RESOURCE_EXHAUSTED:
      return new FleetGcError(
        'RUNTIME_ANSWER_TOO_LARGE',
        `The runtime at ${socketPath} has more to say to ${path} than a message may hold: ${error.details}`,
        { cause: error },
      );
    default:
      return new FleetGcError(
        isImageInUse(error) ? 'RUNTIME_IMAGE_IN_USE' : 'RUNTIME_FAILED',
        `The runtime at ${socketPath} failed in ${path}: ${error.details || error.message}`,
        { cause: error },
      );
  }
}

/**
 * CRI has no code for it. CRI-O passes on what its storage says, `image used by <id>: image is in use by a container`, and
 * says of a container that mounts it `the image is in use by <id>`.
 */
const isImageInUse = ({ details }: ServiceError): boolean =>
  /image is in use by (a container|[0-9a-f]{64})$/i.test(details);

const timedOut = ({ socketPath, path }: CallSite, cause?: unknown): FleetGcError =>
  new FleetGcError(
    'RUNTIME_TIMEOUT',
    `The runtime at ${socketPath} did not answer ${path} in time. It hangs or is overloaded; look at its log.`,
    { cause },
  );

const tooMuch = ({ socketPath, path }: CallSite, mostBytes: number): FleetGcError =>
  new FleetGcError(
    'RUNTIME_ANSWER_TOO_LARGE',
    `The runtime at ${socketPath} answers ${path} with more than the ${mostBytes} bytes that are read of one answer.`,
  );

export const unreadable = ({ socketPath, path }: CallSite, problem: string): FleetGcError =>
  new FleetGcError(
    'RUNTIME_FAILED',
    `The runtime at ${socketPath} answered ${path} with something that FleetGC cannot read, so it removes nothing: ${problem}`,
  );

async function unavailable(error: ServiceError, { socketPath, path }: CallSite): Promise<FleetGcError> {
  const problem = await socketProblem(socketPath, error);
  if (problem !== null) return problem;
  if (DENIED.test(error.details)) return notReached(socketPath, deniedText(socketPath), error);
  return new FleetGcError(
    'RUNTIME_REFUSED',
    `The runtime at ${socketPath} refused or dropped the connection (${path}: ${error.details}). Is it running, and is it a CRI socket?`,
    { cause: error },
  );
}

/** The system's answer stands in the client's words alone. */
const DENIED = /\bconnect (EACCES|EPERM)\b/;

const notReached = (socketPath: string, why: string, cause: unknown): FleetGcError =>
  new FleetGcError('RUNTIME_REFUSED', `The runtime socket ${socketPath} cannot be reached: ${why}.`, {
    cause,
  });

async function socketProblem(socketPath: string, cause: ServiceError): Promise<FleetGcError | null> {
  try {
    if ((await lstat(socketPath)).isDirectory())
      return new FleetGcError('RUNTIME_REFUSED', `${socketPath} is a directory, not a socket.`, { cause });
    return null;
  } catch (error) {
    const code = systemCode(error);
    if (code !== 'ENOENT' && code !== 'ENOTDIR')
      return notReached(socketPath, unreadableReason(error), cause);
    return new FleetGcError(
      'RUNTIME_MISSING',
      `There is no runtime socket at ${socketPath}. Start the runtime, or name its socket with --runtime-endpoint.`,
      { cause },
    );
  }
}
