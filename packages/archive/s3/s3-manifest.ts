import { FleetGcError } from '../../process/errors.ts';
import { begunAhead } from '../begun-ahead.ts';
import { FIRST_PART, partsIn } from '../store/manifest-parts.ts';
import type { NamedObject, S3Objects } from './objects.ts';
import type { ReadObject } from './read-object.ts';

/** Small files that are asked for at the same time: most of the time goes by on the way. */
export const READ_AHEAD = 24;

/** Longer than that a manifest is no text that can be read. */
const MOST_MANIFEST_BYTES = 480 * 1024 * 1024;

/** By so much a part may be larger than the listing said a moment before: others write lines meanwhile. */
const MOST_GROWN_BYTES = 1024 * 1024;

interface NamedPart extends ReadObject {
  readonly name: string;
}

/** The parts of the manifest, in order. Throws `NOT_FOUND` where there is none. */
export async function manifestParts(objects: S3Objects): Promise<readonly NamedPart[]> {
  const listed = await listedParts(objects);
  const parts: NamedPart[] = [];
  let sizeBytes = 0;
  const read = async ({ name, sizeBytes: saidBytes }: NamedObject) => ({
    ...{ name, saidBytes },
    got: await objects.get(name, { mostBytes: saidBytes + MOST_GROWN_BYTES }),
  });
  for await (const { name, saidBytes, got } of begunAhead(listed, READ_AHEAD, read)) {
    if (got.kind === 'other-size') throw otherThanSaid(`${name} in ${objects.name}`, saidBytes);
    // What is missing shows in the chain of the lines.
    if (got.kind === 'missing') continue;
    sizeBytes += got.content.length;
    if (sizeBytes > MOST_MANIFEST_BYTES) throw tooLong(objects.name);
    parts.push({ ...got, name });
  }
  return parts;
}

/** In order, and together not too large: many of them are on their way at the same time. */
async function listedParts(objects: S3Objects): Promise<readonly NamedObject[]> {
  const listed = new Map((await objects.list('manifest')).map((object) => [object.name, object]));
  const parts = partsIn([...listed.keys()]).flatMap((name) => listed.get(name) ?? []);
  if (parts[0]?.name !== FIRST_PART)
    throw new FleetGcError(
      'NOT_FOUND',
      `there is no archive in ${objects.name}: it has no ${FIRST_PART}. See to bucket and prefix, or begin one with "fleetgc audit archive --to ${objects.name}"`,
    );
  if (parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) > MOST_MANIFEST_BYTES)
    throw tooLong(objects.name);
  return parts;
}

const tooLong = (name: string): FleetGcError =>
  new FleetGcError(
    'STATE_UNREADABLE',
    `the manifest in ${name} is longer than the ${MOST_MANIFEST_BYTES} bytes that are read: begin another archive, in another place`,
  );

const otherThanSaid = (what: string, saidBytes: number): FleetGcError =>
  new FleetGcError(
    'STATE_UNREADABLE',
    `${what} has another size than the ${saidBytes} bytes that the listing says: if it stays so, the storage is not to be trusted`,
  );
