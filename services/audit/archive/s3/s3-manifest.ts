import { FleetGcError } from '../../../../packages/process/errors.ts';
import { begunAhead } from '../begun-ahead.ts';
import { FIRST_PART, partsIn } from '../store/manifest-parts.ts';
import type { S3Objects } from './objects.ts';
import type { ReadObject } from './read-object.ts';

/** Small files that are asked for at the same time: most of the time goes by on the way. */
export const READ_AHEAD = 24;

/** Longer than that a manifest is no text that can be read. */
const MOST_MANIFEST_BYTES = 480 * 1024 * 1024;

interface NamedPart extends ReadObject {
  readonly name: string;
}

/** The parts of the manifest, in order. Throws `NOT_FOUND` where there is none. */
export async function manifestParts(objects: S3Objects): Promise<readonly NamedPart[]> {
  const names = partsIn(await objects.list('manifest'));
  if (names[0] !== FIRST_PART)
    throw new FleetGcError(
      'NOT_FOUND',
      `there is no archive in ${objects.name}: it has no ${FIRST_PART}. See to bucket and prefix, or begin one with "fleetgc audit archive --to ${objects.name}"`,
    );
  const parts: NamedPart[] = [];
  let sizeBytes = 0;
  const read = async (name: string) => ({
    name,
    got: await objects.get(name, { mostBytes: MOST_MANIFEST_BYTES }),
  });
  for await (const { name, got } of begunAhead(names, READ_AHEAD, read)) {
    sizeBytes += got.kind === 'object' ? got.content.length : 0;
    if (got.kind === 'other-size' || sizeBytes > MOST_MANIFEST_BYTES) throw tooLong(objects.name);
    // What is missing shows in the chain of the lines.
    if (got.kind === 'object') parts.push({ ...got, name });
  }
  return parts;
}

const tooLong = (name: string): FleetGcError =>
  new FleetGcError(
    'STATE_UNREADABLE',
    `the manifest in ${name} is longer than the ${MOST_MANIFEST_BYTES} bytes that are read: begin another archive, in another place`,
  );
