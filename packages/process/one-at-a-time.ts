import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';

const LF = 0x0a;
const CR = 0x0d;
const CAPITAL_A = 0x41;
const CAPITAL_Z = 0x5a;
const NOTHING = Buffer.alloc(0);
/** The pieces of a body whose end is not known: a few requests may follow in the last one. */
const LEAST_PIECE_BYTES = 256;
const MOST_PIECE_BYTES = 4 * 1024;
/** How long, and how much, is still read and dropped after the last answer. */
const LINGER_MS = 1_000;
const MOST_LINGER_BYTES = 4 * 1024 * 1024;

interface Waiting {
  readonly response: ServerResponse;
  readonly start: () => void;
}

/**
 * A connection on which one request is in hand at a time. The HTTP server of the platform parses all pipelined requests of a chunk at once
 * and starts a handler for each. This gives its parser the bytes of one request, and the next ones only after the answer has left. Until
 * then at most one chunk of the socket is in memory, and the sender has to wait.
 *
 * It looks for nothing but the ends of heads and bodies, and takes no byte away. Where it is wrong about an end, the parser gets some bytes
 * too early, and `begin` holds those requests back.
 */
export class OneAtATime extends Duplex {
  readonly #socket: Socket;
  /** What the parser has not got yet. */
  #held: Buffer = NOTHING;
  /** The last request that was parsed, and how many bytes of its body the parser has not got; `null` where that is not known. */
  #last: { readonly request: IncomingMessage; readonly bytesLeft: number | null } | null = null;
  /** Bytes behind a head that the parser got with it; `null` where a head may end anywhere in the last piece. */
  #ahead: number | null = 0;
  #isBetweenRequests = true;
  #lineHasText = false;
  #isInHand = false;
  readonly #waiting: Waiting[] = [];
  #isAsked = false;
  #isScheduled = false;
  #hasEnded = false;
  #lingerTimer: ReturnType<typeof setTimeout> | undefined;
  /** After the last answer; `null` before. */
  #lingering: { bytesLeft: number } | null = null;

  constructor(socket: Socket) {
    // One piece at a time: what waits in the stream is parsed at once.
    super({ allowHalfOpen: true, readableHighWaterMark: 1 });
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#keep(chunk));
    socket.on('end', () => {
      this.#hasEnded = true;
      if (this.#lingering === null) this.#schedule();
      else this.destroy();
    });
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
    socket.on('timeout', () => this.emit('timeout'));
    socket.pause();
  }

  /** Empty where it is gone. */
  get remoteAddress(): string {
    return this.#socket.remoteAddress ?? '';
  }

  /** Whether its certificate was asked for, and signed by whom the server names. */
  get isCertified(): boolean {
    return this.#socket instanceof TLSSocket && this.#socket.authorized;
  }

  /** Calls `start` as soon as no earlier request is in hand. The request is in hand until its answer has left, or the connection is gone. */
  begin(request: IncomingMessage, response: ServerResponse, start: () => void): void {
    const length = request.headers['content-length'];
    const bytesLeft = length === undefined || this.#ahead === null ? null : Number(length) - this.#ahead;
    this.#last = { request, bytesLeft };
    this.#waiting.push({ response, start });
    this.#startNext();
  }

  /** As a socket of Node.js has it: its HTTP server counts idle time by it. */
  setTimeout(timeoutMs: number): this {
    this.#socket.setTimeout(timeoutMs);
    return this;
  }

  /** As a socket of Node.js has it: its HTTP server ends a connection by it once the answer has left. */
  destroySoon(): void {
    this.end(() => this.#linger());
  }

  override _read(): void {
    this.#isAsked = true;
    this.#schedule();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _writev(
    chunks: readonly { readonly chunk: Buffer }[],
    done: (error?: Error | null) => void,
  ): void {
    this.#socket.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), done);
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#lingerTimer);
    this.#held = NOTHING;
    this.#waiting.length = 0;
    this.#socket.destroy();
    done(error);
  }

  /** Drops what still comes until the other side ends: with bytes unread, the system would reset the connection, and the answer with it. */
  #linger(): void {
    if (this.#hasEnded || this.destroyed) {
      this.destroy();
      return;
    }
    this.#held = NOTHING;
    this.#lingering = { bytesLeft: MOST_LINGER_BYTES };
    this.#lingerTimer = setTimeout(() => this.destroy(), LINGER_MS);
    this.#socket.resume();
  }

  #keep(chunk: Buffer): void {
    if (this.#lingering === null) {
      this.#socket.pause();
      this.#held = chunk;
      this.#schedule();
      return;
    }
    this.#lingering.bytesLeft -= chunk.length;
    if (this.#lingering.bytesLeft < 0) this.destroy();
  }

  #startNext(): void {
    if (this.#isInHand) return;
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#schedule();
      return;
    }
    this.#isInHand = true;
    next.response.once('close', () => {
      this.#isInHand = false;
      this.#startNext();
    });
    next.start();
  }

  /** Each request waits for a turn of the event loop, so that whoever sends many keeps no other connection waiting. */
  #schedule(): void {
    if (this.#isScheduled || this.destroyed) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#give();
    });
  }

  #give(): void {
    if (this.destroyed || this.writableEnded) return;
    if (this.#held.length === 0) {
      // Read on even while a request is in hand: else nobody sees that the other side has gone.
      if (!this.#hasEnded) this.#socket.resume();
      else if (this.#isAsked) this.#push(null);
    } else if (this.#isAsked && !this.#hasToWait()) this.#push(this.#piece());
  }

  #push(piece: Buffer | null): void {
    this.#isAsked = false;
    this.push(piece);
  }

  #hasToWait(): boolean {
    return this.#isInHand && this.#last?.request.complete === true;
  }

  /** The next bytes for the parser: at the most to the end of one head, or of one body. */
  #piece(): Buffer {
    const last = this.#last;
    if (last === null || last.request.complete) return this.#cut(this.#lengthOfHead());
    if (last.bytesLeft === null || last.bytesLeft <= 0) {
      const piece = this.#cut(this.#lengthOfChunks());
      const lineStart = piece.lastIndexOf(LF) + 1;
      this.#lineHasText = hasText(piece.subarray(lineStart)) || (lineStart === 0 && this.#lineHasText);
      this.#isBetweenRequests = false;
      this.#ahead = null;
      return piece;
    }
    const piece = this.#cut(last.bytesLeft);
    this.#last = { ...last, bytesLeft: last.bytesLeft - piece.length };
    return piece;
  }

  #cut(length: number): Buffer {
    const piece = this.#held.subarray(0, length);
    this.#held = this.#held.subarray(piece.length);
    return piece;
  }

  /** To the empty line that ends a head, or all that is there. Empty lines before a head belong to it. */
  #lengthOfHead(): number {
    let at = this.#isBetweenRequests ? this.#held.findIndex((byte) => byte !== CR && byte !== LF) : 0;
    if (at === -1) return this.#held.length;
    for (;;) {
      const lineEnd = this.#held.indexOf(LF, at);
      this.#lineHasText ||= hasText(this.#held.subarray(at, lineEnd === -1 ? undefined : lineEnd));
      this.#isBetweenRequests = lineEnd !== -1 && !this.#lineHasText;
      if (lineEnd === -1) return this.#held.length;
      this.#lineHasText = false;
      at = lineEnd + 1;
      if (!this.#isBetweenRequests) continue;
      this.#ahead = this.#canBeRequest(at) ? 0 : 1;
      return at + this.#ahead;
    }
  }

  /**
   * Whether what follows a head can be another request, since all methods are capital letters. If not, it is a body, or no HTTP: of that the
   * parser has to get the first byte, so that it ends the connection before anybody takes it for one that lasts.
   */
  #canBeRequest(at: number): boolean {
    const next = this.#held[at];
    return next === undefined || next === CR || next === LF || (next >= CAPITAL_A && next <= CAPITAL_Z);
  }

  /** To an empty line, as the last chunk has one behind it. */
  #lengthOfChunks(): number {
    const found = this.#held.indexOf('\n\r\n', LEAST_PIECE_BYTES);
    return Math.min(found === -1 ? this.#held.length : found + 3, MOST_PIECE_BYTES);
  }
}

const hasText = (line: Buffer): boolean => line.some((byte) => byte !== CR);
