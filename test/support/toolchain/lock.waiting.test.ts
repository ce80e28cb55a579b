import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { withLock } from './lock.ts';

const LOCK = join(import.meta.dirname, 'lock.ts');
const HOLDER = `import { withLock } from ${JSON.stringify(LOCK)};
await withLock('held', 1000, async () => { console.log('have it'); await new Promise((r) => setTimeout(r, 100000)); });`;
let cache: string;

beforeAll(() => {
  cache = mkdtempSync(join(tmpdir(), 'fleetgc-locks-'));
  vi.stubEnv('XDG_CACHE_HOME', cache);
});

afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(cache, { recursive: true, force: true });
});

test('what another process prepares is waited for, up to the bound; when that process dies, it is free', async () => {
  const holder = spawn(process.execPath, ['--input-type=module', '-e', HOLDER], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');

  await expect(withLock('held', 300, async () => 'got it')).rejects.toThrow(
    /'held' was locked by another process/,
  );

  holder.kill('SIGKILL');
  expect(await withLock('held', 10_000, async () => 'got it')).toBe('got it');
});

test('it is free again after work that failed', async () => {
  await expect(withLock('failing', 1000, () => Promise.reject(new Error('broken')))).rejects.toThrow(
    'broken',
  );

  expect(await withLock('failing', 1000, async () => 'got it')).toBe('got it');
});

test('two in one process take turns', async () => {
  const order: string[] = [];
  const work = (name: string) => async () => {
    order.push(`${name} begins`);
    await Promise.resolve();
    order.push(`${name} ends`);
  };

  await Promise.all([withLock('turns', 10_000, work('a')), withLock('turns', 10_000, work('b'))]);

  expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
});
