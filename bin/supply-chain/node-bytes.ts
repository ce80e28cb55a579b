import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';

/** What became of comparing the Node.js that is shipped with the one that its project publishes. */
export type Compared =
  | { readonly kind: 'same' }
  | { readonly kind: 'different'; readonly problem: string }
  | { readonly kind: 'not-compared'; readonly reason: string };

export interface ShippedNode {
  /** Where the program is installed. */
  readonly path: string;
  /** `24.21.0` */
  readonly version: string;
  /** As the project names it, e.g. `linux-x64`. */
  readonly platform: string;
}

const PUBLISHED = 'https://nodejs.org/dist';
const BOUND_MS = 5 * 60_000;

/**
 * Downloads what the project publishes for this version, checks it against the checksums published beside it, and compares
 * the program in it with the one that is installed. Where either cannot be had, nothing was compared.
 */
export async function compareNodeBytes(node: ShippedNode, published = PUBLISHED): Promise<Compared> {
  const { version, platform, path } = node;
  const folder = `node-v${version}-${platform}`;
  const archive = `${folder}.tar.gz`;
  const signal = AbortSignal.timeout(BOUND_MS);
  let sums: string;
  let bytes: Buffer;
  try {
    sums = (await download(`${published}/v${version}/SHASUMS256.txt`, signal)).toString('utf8');
    bytes = await download(`${published}/v${version}/${archive}`, signal);
  } catch (error) {
    return { kind: 'not-compared', reason: reasonOf(error) };
  }
  if (!sums.split('\n').includes(`${sha256(bytes)}  ${archive}`))
    return { kind: 'different', problem: `${archive} is not what its published checksum says` };
  const theirs = await sha256Within(bytes, `${folder}/bin/node`);
  const ours = await sha256Of(path);
  if (theirs === ours) return { kind: 'same' };
  return {
    kind: 'different',
    problem: `${path} has the SHA-256 ${ours}, and the program in ${archive} has ${theirs ?? 'none, since it is missing'}`,
  };
}

async function download(url: string, signal: AbortSignal): Promise<Buffer> {
  const response = await fetch(url, { signal });
  if (!response.ok) throw new Error(`${url} was answered with status ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
};

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** The checksum of a file in a packed archive; `null` where it has no such file. */
async function sha256Within(archive: Buffer, name: string): Promise<string | null> {
  const entries = extract();
  const unpacking = pipeline(Readable.from([archive]), createGunzip(), entries);
  let found: string | null = null;
  for await (const entry of entries) {
    if (entry.header.name !== name) {
      entry.resume();
      continue;
    }
    const hash = createHash('sha256');
    await pipeline(entry, hash);
    found = hash.digest('hex');
  }
  await unpacking;
  return found;
}
