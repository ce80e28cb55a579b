import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';

/** An in-memory DuckDB of its own. */
export interface Duck extends AsyncDisposable {
  /** One reading at a time goes over a connection. */
  connect(): Promise<DuckDBConnection & Disposable>;
}

const MEMORY = '512MiB';

/**
 * Gives memory back at once and caches no files, so that a long reading stays small; never loads an extension from the
 * network, nor writes what does not fit into memory to the disk.
 */
const SETTINGS = {
  memory_limit: MEMORY,
  threads: '1',
  allocator_flush_threshold: '1MiB',
  allocator_bulk_deallocation_flush_threshold: '1MiB',
  enable_external_file_cache: 'false',
  temp_directory: '',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
};

/** Begins with the first connection, since that takes a moment and many archives are asked or written nothing. */
export function openDuckDb(): Duck {
  let opened: Promise<DuckDBInstance> | null = null;
  let isClosed = false;
  return {
    connect: async () => {
      opened ??= DuckDBInstance.create(':memory:', SETTINGS);
      const connection = await (await opened).connect();
      return Object.assign(connection, { [Symbol.dispose]: () => connection.closeSync() });
    },
    [Symbol.asyncDispose]: async () => {
      if (!isClosed) (await opened)?.closeSync();
      isClosed = true;
    },
  };
}

/** A text in SQL. */
export const sqlText = (text: string): string => `'${text.replaceAll("'", "''")}'`;
