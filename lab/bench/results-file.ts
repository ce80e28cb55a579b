import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Measured, pageOf, Report } from './report.ts';

/** The last results of each benchmark, whichever run they are of; beside the file as a page to read. */
export interface ResultsFile {
  /** In place of what was measured before; the other benchmarks stay as they are. */
  put(name: string, measured: Measured): void;
}

/** `path` ends with `.json`. Throws where the file is there and is something else. */
export function openResults(path: string): ResultsFile {
  mkdirSync(dirname(path), { recursive: true });
  let report: Report = existsSync(path) ? read(path) : { benchmarks: {} };
  return {
    put: (name, measured) => {
      report = { benchmarks: { ...report.benchmarks, [name]: measured } };
      writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`);
      writeFileSync(pagePath(path), pageOf(report));
    },
  };
}

export const pagePath = (path: string): string => path.replace(/\.json$/, '.md');

function read(path: string): Report {
  try {
    return Report.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    throw new Error(`${path} holds no results of benchmarks; name another file with --output`, {
      cause: error,
    });
  }
}
