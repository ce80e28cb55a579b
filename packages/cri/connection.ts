import { Client, credentials, Metadata } from '@grpc/grpc-js';
import type { z } from 'zod';
import { type CallSite, timedOut, tooMuch } from './call-errors.ts';
import { streamOf, unary } from './calls.ts';
import type { RpcMethod } from './rpc.ts';
import { socketPathOf } from './socket-path.ts';

/** The kubelet's own limit: a node with thousands of containers passes gRPC's 4 MB. */
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
