import { FleetGcError } from '../process/errors.ts';
import type { ReadTo } from './port.ts';

/** What was read until then must not pass for the whole. */
export const interrupted = (): FleetGcError =>
  new FleetGcError('INTERRUPTED', 'stopped before everything was read, so nothing is said of it');

/** To be called where a reading stops early: one without an end may do so at any time, another throws `INTERRUPTED`. */
export function requireEndless(to: ReadTo): void {
  if (to !== 'forever') throw interrupted();
}
