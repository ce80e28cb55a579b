import { statSync } from 'node:fs';
import type { SoakFleet, SoakPart } from './fleet.ts';
import {
  collectedHeap,
  connectionsTo,
  databaseBytes,
  filesBelow,
  openFiles,
  residentBytes,
} from './process-sample.ts';
import type { Sample, Tolerance } from './verdict.ts';

const MIB = 1024 * 1024;
const KIB = 1024;

/** What is looked at, and what of it is no growth. */
export const FIGURES = {
  'resident memory': { unit: 'bytes', ratio: 0.15, absolute: 8 * MIB },
  'heap once garbage is collected': { unit: 'bytes', ratio: 0.05, absolute: MIB },
  'compiled code': { unit: 'bytes', ratio: 0.5, absolute: 4 * MIB },
  'open files': { unit: 'files', ratio: 0, absolute: 2 },
  sockets: { unit: 'sockets', ratio: 0, absolute: 2 },
  'state directory': { unit: 'bytes', ratio: 0.05, absolute: 256 * KIB },
  'files of the state directory': { unit: 'files', ratio: 0, absolute: 1 },
  'logger output a minute': { unit: 'bytes', ratio: 0.5, absolute: 4 * KIB },
  'embedded event log': { unit: 'bytes', ratio: 0.05, absolute: MIB },
  'connections to the broker': { unit: 'connections', ratio: 0, absolute: 2 },
} as const satisfies Readonly<Record<string, Tolerance & { readonly unit: string }>>;
export type FigureName = keyof typeof FIGURES;

export interface Series {
  readonly process: string;
  readonly figure: FigureName;
  readonly samples: Sample[];
}

/** What was seen of a fleet, from one look to the next. */
export class AllSeries {
  readonly #fleet: SoakFleet;
  readonly #all = new Map<string, Series>();
  readonly #logged = new Map<string, { readonly atMs: number; readonly bytes: number }>();

  constructor(fleet: SoakFleet) {
    this.#fleet = fleet;
  }

  get all(): readonly Series[] {
    return [...this.#all.values()];
  }

  /** Throws where a process has ended. */
  look(atMs: number): void {
    for (const soaked of this.#fleet.parts) this.#lookAt(soaked, atMs);
    this.#add('all', 'connections to the broker', { atMs, value: connectionsTo(this.#fleet.port) });
  }

  /** What costs each process a tenth of a second or so. */
  async lookLonger(atMs: number): Promise<void> {
    for (const { part, heapFile, logPath } of this.#fleet.parts) {
      const { heapBytes, codeBytes } = await collectedHeap(part.pid(), heapFile);
      this.#add(part.name, 'heap once garbage is collected', { atMs, value: heapBytes });
      this.#add(part.name, 'compiled code', { atMs, value: codeBytes });
      this.#addLogged(part.name, logPath, atMs);
    }
  }

  #lookAt({ part, stateDirectory, databasePath }: SoakPart, atMs: number): void {
    const pid = part.pid();
    const { files, sockets } = openFiles(pid);
    this.#add(part.name, 'resident memory', { atMs, value: residentBytes(pid) });
    this.#add(part.name, 'open files', { atMs, value: files });
    this.#add(part.name, 'sockets', { atMs, value: sockets });
    if (stateDirectory !== null) {
      const state = filesBelow(stateDirectory);
      this.#add(part.name, 'state directory', { atMs, value: state.bytes });
      this.#add(part.name, 'files of the state directory', { atMs, value: state.files });
    }
    if (databasePath !== null)
      this.#add(part.name, 'embedded event log', { atMs, value: databaseBytes(databasePath) });
  }

  /** A log is there to grow; by how much in a minute is what must not. */
  #addLogged(name: string, path: string, atMs: number): void {
    const bytes = statSync(path).size;
    const before = this.#logged.get(name);
    this.#logged.set(name, { atMs, bytes });
    if (before === undefined) return;
    const value = ((bytes - before.bytes) / (atMs - before.atMs)) * 60_000;
    this.#add(name, 'logger output a minute', { atMs, value });
  }

  #add(process: string, figure: FigureName, sample: Sample): void {
    const key = `${process} ${figure}`;
    const series = this.#all.get(key) ?? { process, figure, samples: [] };
    series.samples.push(sample);
    this.#all.set(key, series);
  }
}
