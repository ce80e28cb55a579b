import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { status } from '@grpc/grpc-js';
import { CRI_NAMESPACE } from '../containerd/methods.ts';

/** What of a call's headers reaches the runtime, its deadline among them. */
const PASSED_HEADERS = [
  'content-type',
  'user-agent',
  'grpc-timeout',
  'grpc-encoding',
  'grpc-accept-encoding',
];

/** Answers a call itself, with a status of gRPC and a sentence. */
export function refuse(call: ServerHttp2Stream, code: status, sentence: string): void {
  call.resume();
  if (call.destroyed || call.closed || call.headersSent) return;
  call.respond(
    { ':status': 200, 'content-type': 'application/grpc', ...statusHeaders(code, sentence) },
    { endStream: true },
  );
}

const statusHeaders = (code: status, sentence: string): OutgoingHttpHeaders => ({
  'grpc-status': String(code),
  'grpc-message': encodeURI(sentence),
});

/** What one call may send, and within which time. */
export interface RequestBounds {
  readonly mostBytes: number;
  readonly timeoutMs: number;
}

/**
 * Passes a call on and its answer back, byte by byte: no message is read or held here. A request has a bound, since none of a
 * reading call is large. An answer has none here: who sends it waits until the other side has room, and an agent has a bound of
 * its own. Resolves when the call has ended, to what kept the runtime from answering it, or `null`.
 */
export function passOn(
  call: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { runtime, bounds }: { readonly runtime: ClientHttp2Session; readonly bounds: RequestBounds },
): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const asked = runtime.request(headersFor(headers));
  let problem: string | null = null;
  asked.on('error', (error) => {
    problem = error.message;
  });
  asked.on('response', (answer, flags) => answerWith(call, asked, { answer, flags }));
  asked.on('close', () => {
    if (!call.headersSent) refuse(call, status.UNAVAILABLE, problem ?? 'the runtime ended the call');
    else if (asked.rstCode !== constants.NGHTTP2_NO_ERROR) call.close(asked.rstCode);
    resolve(call.aborted ? null : problem);
  });
  // Whoever asked is gone or was told: the runtime need not go on.
  call.on('close', () => asked.close(constants.NGHTTP2_CANCEL));
  boundRequest(call, bounds, (code, sentence) => {
    call.unpipe(asked);
    refuse(call, code, sentence);
    call.close();
    asked.close(constants.NGHTTP2_CANCEL);
  });
  call.pipe(asked);
  return promise;
}

/** Calls `onBeyond` once, when a request is too large or does not end in time. */
export function boundRequest(
  call: ServerHttp2Stream,
  { mostBytes, timeoutMs }: RequestBounds,
  onBeyond: (code: status, sentence: string) => void,
): void {
  const late = setTimeout(
    () => beyond(status.DEADLINE_EXCEEDED, `The request did not end within ${timeoutMs / 1000} s.`),
    timeoutMs,
  );
  let bytes = 0;
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > mostBytes)
      beyond(status.RESOURCE_EXHAUSTED, `The request is larger than ${mostBytes} bytes.`);
  };
  const stop = (): void => {
    clearTimeout(late);
    call.off('data', count);
  };
  const beyond = (code: status, sentence: string): void => {
    stop();
    onBeyond(code, sentence);
  };
  call.on('data', count);
  call.once('end', stop).once('close', stop);
}

const headersFor = (headers: IncomingHttpHeaders): OutgoingHttpHeaders => ({
  ':method': 'POST',
  ':path': headers[':path'],
  // Of gRPC always. As somebody else wrote it, Node.js may refuse to send it.
  te: 'trailers',
  ...Object.fromEntries(
    PASSED_HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  ),
  // What other namespaces hold is no business of an agent.
  ...('containerd-namespace' in headers && CRI_NAMESPACE),
});

function answerWith(
  call: ServerHttp2Stream,
  asked: ClientHttp2Stream,
  { answer, flags }: { readonly answer: OutgoingHttpHeaders; readonly flags: number },
): void {
  if (call.destroyed || call.closed) return;
  if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0) {
    call.respond(answer, { endStream: true });
    return;
  }
  let trailers = statusHeaders(status.UNAVAILABLE, 'the runtime ended its answer without a status');
  asked.on('trailers', (told) => {
    trailers = told;
  });
  call.respond(answer, { waitForTrailers: true });
  call.on('wantTrailers', () => call.sendTrailers(trailers));
  asked.pipe(call);
}
