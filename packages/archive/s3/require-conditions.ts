import { FleetGcError } from '../../process/errors.ts';
import type { S3Objects } from './objects.ts';

const PROBE = Buffer.from('probe');
const NO_TAG = `"${'0'.repeat(32)}"`;

/**
 * Whether the storage refuses what it is told to write only if nothing else is there: some take every write, and two archivers
 * would write over each other. Throws `CONFIG_INVALID`.
 */
export async function requireConditions(objects: S3Objects, name: string): Promise<void> {
  await objects.put(name, PROBE, { absent: true });
  const again = await objects.put(name, PROBE, { absent: true });
  const changed = await objects.put(name, PROBE, { tag: NO_TAG });
  await objects.remove(name);
  if (again.kind === 'refused' && changed.kind === 'refused') return;
  throw new FleetGcError(
    'CONFIG_INVALID',
    `the storage of ${objects.name} takes conditional writes and does not heed them (If-None-Match, If-Match), so that two archivers would write over each other: use a storage that does, or archive to a directory`,
  );
}
