import { readdirSync, readFileSync } from 'node:fs';

const NS_PER_MS = 1e6;
const KIBIBYTE = 1024;

/** Milliseconds of processor time of all threads that live. */
export function cpuMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const ns = threads.map((thread) => Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]));
  return ns.reduce((sum, of) => sum + of, 0) / NS_PER_MS;
}

/** Resident memory in bytes, shared pages (the runtime's own file) included. */
export function residentBytes(pid: number): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`)) ?? [];
  if (kibibytes === undefined) throw new Error(`process ${pid} has ended`);
  return Number(kibibytes) * KIBIBYTE;
}

const read = (path: string): string => readFileSync(path, 'utf8');
