import { FleetGcError } from '../../packages/process/errors.ts';

/**
 * Loads code that needs DuckDB. Throws `NOT_FOUND` where that is not installed. A file of its own: what queries an archive alone
 * does not load the event log.
 */
export async function loadArchiveCode<Code>(load: () => Promise<Code>): Promise<Code> {
  try {
    return await load();
  } catch (cause) {
    throw isMissing(cause) ? notInstalled(cause) : cause;
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  error.code === 'MODULE_NOT_FOUND' &&
  error.message.includes('@duckdb/');

const notInstalled = (cause: unknown): FleetGcError =>
  new FleetGcError(
    'NOT_FOUND',
    'archives are written and read with DuckDB, whose binary is not installed here: the container image leaves it out for its size. Run "npm ci" in the source, and the verb from there',
    { cause },
  );
