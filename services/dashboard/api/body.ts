import type { IncomingMessage } from 'node:http';

/** What was sent, as text; `null` for more than that, which is not read. */
export async function readBody(request: IncomingMessage, mostBytes: number): Promise<string | null> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > mostBytes) return null;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
