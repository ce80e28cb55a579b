import type { LogDestination } from '../shared/logger.ts';
import type { ProcessControl } from '../shared/run.ts';

/** What the process that `fleetgc` runs in gives it. */
export interface CliOutside {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly control: ProcessControl;
  readonly writeOut: (text: string) => void;
  readonly stderr: LogDestination;
}
