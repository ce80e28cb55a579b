import { expect, test } from 'vitest';
import { loadArchiveCode } from '../../../cli/framework/audit-log.ts';

const failing = (message: string, code: string) => () =>
  Promise.reject(Object.assign(new Error(message), { code }));

test('where DuckDB is not installed, archives say what to do', async () => {
  const load = failing(
    "Cannot find module '@duckdb/node-bindings-linux-x64/duckdb.node'\nRequire stack:\n- …",
    'MODULE_NOT_FOUND',
  );

  await expect(loadArchiveCode(load)).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: expect.stringContaining('npm ci'),
  });
});

test('any other failure stays what it is', async () => {
  const load = failing("Cannot find module './lost.ts'", 'MODULE_NOT_FOUND');

  await expect(loadArchiveCode(load)).rejects.toThrow('lost.ts');
  expect(await loadArchiveCode(async () => 'code')).toBe('code');
});
