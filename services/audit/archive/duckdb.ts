import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';

/** An in-memory DuckDB of its own. */
export interface Duck extends Disposable {
  /** One reading at a time goes over a connection. */
  connect(): Promise<DuckDBConnection & Disposable>;
}

const MEMORY = '512MiB';

/**
 * Gives memory back at once and caches no files, so that a long reading stays small; never loads an extension from the
 * network, nor writes what does not fit into memory to the disk.
 */
export async function openDuckDb(): Promise<Duck> {
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: MEMORY,
    threads: '1',
    allocator_flush_threshold: '1MiB',
    allocator_bulk_deallocation_flush_threshold: '1MiB',
    enable_external_file_cache: 'false',
    temp_directory: '',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  return {
    connect: async () => {
      const connection = await instance.connect();
      return Object.assign(connection, { [Symbol.dispose]: () => connection.closeSync() });
    },
    [Symbol.dispose]: () => instance.closeSync(),
  };
}

/** A text in SQL. */
export const sqlText = (text: string): string => `'${text.replaceAll("'", "''")}'`;
