import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { residentBytes } from '../bench/process-usage.ts';

const BLOCK_BYTES = 512;
/** Much: a collection of all garbage waits for its turn on a busy machine. */
const COLLECTED_MS = 60_000;
const LOOK_MS = 50;
/** `st` of an established connection in `/proc/net/tcp`. */
const ESTABLISHED = '01';

interface OpenFiles {
  readonly files: number;
  readonly sockets: number;
}

export { residentBytes };

export function openFiles(pid: number): OpenFiles {
  const directory = `/proc/${pid}/fd`;
  const targets = readdirSync(directory).flatMap((fd) => targetOf(join(directory, fd)));
  return { files: targets.length, sockets: targets.filter((target) => target.startsWith('socket:')).length };
}

/** None of what was closed meanwhile. */
function targetOf(link: string): readonly string[] {
  try {
    return [readlinkSync(link)];
  } catch {
    return [];
  }
}

/** What files take on their disk, and how many there are. */
export function filesBelow(directory: string): { readonly bytes: number; readonly files: number } {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const bytes = files.map(({ parentPath, name }) => statSync(join(parentPath, name)).blocks * BLOCK_BYTES);
  return { bytes: bytes.reduce((sum, of) => sum + of, 0), files: files.length };
}

/** A database with what lies beside it: its log of writes and its index of that. */
export const databaseBytes = (path: string): number =>
  ['', '-wal', '-shm']
    .map((ending) => `${path}${ending}`)
    .filter((file) => existsSync(file))
    .reduce((sum, file) => sum + statSync(file).size, 0);

/** Connections of this machine's processes to this port. */
export function connectionsTo(port: number): number {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return ['/proc/net/tcp', '/proc/net/tcp6']
    .flatMap((path) => readFileSync(path, 'utf8').split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , remote = '', state]) => remote.endsWith(wanted) && state === ESTABLISHED).length;
}

const Heap = z.object({ heapBytes: z.number(), codeBytes: z.number() });

/** What is left once garbage is collected, as `report-heap.ts` says it. */
export async function collectedHeap(pid: number, heapFile: string): Promise<z.infer<typeof Heap>> {
  rmSync(heapFile, { force: true });
  process.kill(pid, 'SIGUSR2');
  for (let waitedMs = 0; waitedMs < COLLECTED_MS; waitedMs += LOOK_MS) {
    await sleep(LOOK_MS);
    const text = existsSync(heapFile) ? readFileSync(heapFile, 'utf8') : '';
    if (text.endsWith('}')) return Heap.parse(JSON.parse(text));
  }
  throw new Error(`process ${pid} does not tell of its heap`);
}
