const LINE_FEED = 0x0a;

/** A line without its end; `null` for one that is longer than allowed, of which nothing is kept. */
export type Line = Buffer | null;

/**
 * The lines of a stream, together those that one chunk completes, so that who answers them decides when more is read.
 * What follows the last line feed is a line too, unless it is empty.
 */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  mostBytes: number,
): AsyncGenerator<readonly Line[]> {
  let parts: Buffer[] = [];
  let bytes = 0;
  const take = (part: Buffer): void => {
    bytes += part.length;
    if (bytes <= mostBytes) parts.push(part);
    else parts = [];
  };
  const end = (): Line => {
    const line = bytes <= mostBytes ? Buffer.concat(parts) : null;
    parts = [];
    bytes = 0;
    return line;
  };
  for await (const chunk of chunks) {
    const lines: Line[] = [];
    let from = 0;
    for (let to = chunk.indexOf(LINE_FEED); to >= 0; to = chunk.indexOf(LINE_FEED, from)) {
      take(chunk.subarray(from, to));
      lines.push(end());
      from = to + 1;
    }
    take(chunk.subarray(from));
    if (lines.length > 0) yield lines;
  }
  if (bytes > 0) yield [end()];
}
