import type { LogDestination } from '../packages/process/logger.ts';
import type { ProcessControl } from '../packages/process/run.ts';

/** What the process that `fleetgc` runs in gives it. */
export interface CliOutside {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly control: ProcessControl;
  /** Resolves once the reader of stdout has room for more. */
  readonly writeOut: (text: string) => Promise<void>;
  /** Width of the terminal that stdout is; `null` when it is none. */
  readonly terminalColumns: number | null;
  readonly stderr: LogDestination;
}
