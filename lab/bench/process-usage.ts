import { readdirSync, readFileSync } from 'node:fs';

const NS_PER_MS = 1e6;
const KIBIBYTE = 1024;
const MS_PER_TICK = 10;

/** Milliseconds of processor time of all threads that live. */
export function cpuMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const ns = threads.map((thread) => Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]));
  return ns.reduce((sum, of) => sum + of, 0) / NS_PER_MS;
}

/** Resident memory in bytes, shared pages (the runtime's own file) included. */
export function residentBytes(pid: number): number {
  return kibibytesOf(pid, 'VmRSS') * KIBIBYTE;
}

/** Throws for a process that has ended. */
function kibibytesOf(pid: number, name: 'VmRSS' | 'VmHWM'): number {
  const [, field, kibibytes] =
    read(`/proc/${pid}/status`).match(new RegExp(`^(${name}):\\s+(\\d+) kB$`, 'm')) ?? [];
  if (field === undefined) throw new Error(`process ${pid} has ended`);
  return Number(kibibytes);
}

/** Processor time of all threads that ever lived, in milliseconds; the kernel counts hundredths of a second. */
export function usedCpuMs(pid: number): number {
  const stat = read(`/proc/${pid}/stat`);
  // The name of the program, in brackets, may hold anything.
  const [, user, system] = /^(?:\S+ ){11}(\d+) (\d+)/.exec(stat.slice(stat.lastIndexOf(')') + 2)) ?? [];
  return (Number(user) + Number(system)) * MS_PER_TICK;
}

/** The most that was ever resident, in bytes. */
export function peakResidentBytes(pid: number): number {
  return kibibytesOf(pid, 'VmHWM') * KIBIBYTE;
}

const read = (path: string): string => readFileSync(path, 'utf8');
