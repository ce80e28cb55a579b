/** A line is longer than it may be. */
export class LineTooLong extends Error {}

const NEWLINE = 0x0a;

/** The lines of a stream, none longer than `mostBytes`; what stands behind the last newline is none. Throws `LineTooLong`. */
export async function* linesOf(chunks: AsyncIterable<Buffer>, mostBytes: number): AsyncGenerator<Buffer> {
  const begun = new BegunLine(mostBytes);
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      yield begun.endedBy(chunk.subarray(from, end));
      from = end + 1;
    }
    begun.add(chunk.subarray(from));
  }
}

/** A line of which the end has not come. */
class BegunLine {
  readonly #mostBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  add(part: Buffer): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    if (this.#bytes > this.#mostBytes) throw new LineTooLong();
    this.#parts.push(part);
  }

  endedBy(last: Buffer): Buffer {
    this.add(last);
    const [only] = this.#parts;
    const line = only !== undefined && this.#parts.length === 1 ? only : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    return line;
  }
}
