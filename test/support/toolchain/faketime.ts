import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { unpackedPackage } from './unpacked-package.ts';

const LIBRARIES = 'usr/lib';
const LIBRARY = 'libfaketimeMT.so.1';
const OTHERWISE =
  'clocks of processes are set with libfaketime, which is taken from Debian or Ubuntu as root';

/** The path of libfaketime's library for programs with threads. */
export async function ensureFaketime(): Promise<string> {
  const libraries = join(await unpackedPackage('libfaketime', OTHERWISE), LIBRARIES);
  const found = readdirSync(libraries, { recursive: true, encoding: 'utf8' }).find((path) =>
    path.endsWith(LIBRARY),
  );
  if (found !== undefined) return join(libraries, found);
  throw new Error(`there is no ${LIBRARY} in Debian's package libfaketime`);
}
