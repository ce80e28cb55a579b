import { type FleetGcError, toFleetGcError } from '../../packages/process/errors.ts';
import type { DoctorCheck } from '../../schemas/reports/doctor.ts';

/** What a check found. */
export type Finding = Pick<DoctorCheck, 'outcome' | 'seen' | 'todo'>;

export const ok = (seen: string): Finding => ({ outcome: 'ok', seen, todo: null });
export const warning = (seen: string, todo: string): Finding => ({ outcome: 'warning', seen, todo });
export const problem = (seen: string, todo: string): Finding => ({ outcome: 'problem', seen, todo });
export const skipped = (why: string): Finding => ({ outcome: 'skipped', seen: why, todo: null });

/** What somebody who looked saw, or why he could not. */
export type Looked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: FleetGcError };

/** Never rejects. */
export async function looked<T>(look: () => T | Promise<T>): Promise<Looked<T>> {
  try {
    return { ok: true, value: await look() };
  } catch (error) {
    return { ok: false, error: toFleetGcError(error) };
  }
}

/** The same of what is there at once. */
export function lookedNow<T>(look: () => T): Looked<T> {
  try {
    return { ok: true, value: look() };
  } catch (error) {
    return { ok: false, error: toFleetGcError(error) };
  }
}
