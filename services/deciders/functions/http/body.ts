import type { IncomingMessage } from 'node:http';
import { type Refused, refused } from './problem.ts';

/** Bodies that are in memory at once, of all requests. */
export const MOST_BODY_BYTES_AT_ONCE = 128 * 1024 * 1024;

/** What all requests together have in memory. */
export class BodyRoom {
  #bytes = 0;

  /** The body, as long as `use` works on it; it is refused as soon as it is known to be too large. */
  async with<T>(
    request: IncomingMessage,
    mostBytes: number,
    use: (body: Buffer) => Promise<T>,
  ): Promise<T | Refused> {
    const parts: Buffer[] = [];
    let bytes = 0;
    const declared = Number(request.headers['content-length'] ?? 0);
    if (declared > mostBytes) return tooLarge(mostBytes);
    if (this.#bytes + declared > MOST_BODY_BYTES_AT_ONCE) return FULL;
    try {
      // Who is refused in the middle is still answered.
      for await (const part of request.iterator({ destroyOnReturn: false })) {
        const chunk: Buffer = part;
        bytes += chunk.length;
        this.#bytes += chunk.length;
        if (bytes > mostBytes) return tooLarge(mostBytes);
        if (this.#bytes > MOST_BODY_BYTES_AT_ONCE) return FULL;
        parts.push(chunk);
      }
      return await use(Buffer.concat(parts));
    } finally {
      this.#bytes -= bytes;
    }
  }
}

const tooLarge = (mostBytes: number): Refused =>
  refused('too-large', `the body has more than the ${mostBytes} bytes that are read`);
const FULL = refused('busy', 'too much is being read at the moment');
