import packageJson from '../../package.json' with { type: 'json' };

/** The release of FleetGC that this process is of. */
export const PRODUCT_VERSION: string = packageJson.version;

/** The build puts a commit in its place; without one it stays a name that nobody declared. */
declare const BUILT_OF_COMMIT: string | undefined;

/** Hash of the commit that this program was built of; `null` where it is not known, as for sources that run themselves. */
export const PRODUCT_COMMIT: string | null = typeof BUILT_OF_COMMIT === 'undefined' ? null : BUILT_OF_COMMIT;
