import packageJson from '../../package.json' with { type: 'json' };

/** The release of FleetGC that this process is of. */
export const PRODUCT_VERSION: string = packageJson.version;
