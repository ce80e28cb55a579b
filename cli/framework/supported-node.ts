import { FleetGcError } from '../../packages/process/errors.ts';

type Version = readonly [major: number, minor: number, patch: number];

/**
 * The oldest Node.js of each line that has every repair this program counts on: V8 before them could read an escaped name in JSON as
 * another name that it read earlier (its issue 521080746), so that who wrote one event changed how the next was read. The last
 * line includes what comes after it. `engines` in package.json and `bin/fleetgc` say the same.
 */
const OLDEST: readonly Version[] = [
  [24, 22, 3],
  [26, 12, 1],
];

/** In words, for errors and documents. */
export const SUPPORTED_NODE = '24.22.3 or newer of Node.js 24, or 26.12.1 or newer';

/** Throws `PLATFORM_UNSUPPORTED` on a Node.js that may misread what others wrote. `version` is as in `process.versions.node`. */
export function requireSupportedNode(version: string): void {
  if (isSupportedNode(version)) return;
  throw new FleetGcError(
    'PLATFORM_UNSUPPORTED',
    `Node.js ${version} is not supported, because it can misread JSON that others wrote. Run FleetGC on ${SUPPORTED_NODE}`,
  );
}

export function isSupportedNode(version: string): boolean {
  const [major = Number.NaN, minor = Number.NaN, patch = Number.NaN] = version.split(/[.-]/).map(Number);
  const newest = OLDEST.at(-1);
  if (newest !== undefined && major > newest[0]) return true;
  const oldest = OLDEST.find(([line]) => line === major);
  if (oldest === undefined) return false;
  return minor === oldest[1] ? patch >= oldest[2] : minor > oldest[1];
}
