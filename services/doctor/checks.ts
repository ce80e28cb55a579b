import type { Sleep } from '../../packages/process/backoff.ts';
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

/** One check: a row of a table. */
interface Check<Ports> {
  readonly looksAt: string;
  /** Changes nothing anywhere. */
  readonly look: (ports: Ports) => Finding | Promise<Finding>;
}

export type Checks<Id extends string, Ports> = Readonly<Record<Id, Check<Ports>>>;

/**
 * A check that took longer has found that something hangs.
 * @limit Timeout of one check of `doctor`.
 */
export const CHECK_BOUND_MS = 20_000;

/** Makes all checks side by side. The answers are in the order of the table; one that fails or hangs holds up no other. */
export const runChecks = <Id extends string, Ports>(
  checks: Checks<Id, Ports>,
  ports: Ports,
  wait: Sleep,
): Promise<readonly DoctorCheck[]> =>
  Promise.all(
    Object.entries<Check<Ports>>(checks).map(async ([id, { looksAt, look }]) => ({
      id,
      looksAt,
      ...(await bounded(async () => await look(ports), wait)),
    })),
  );

async function bounded(look: () => Promise<Finding>, wait: Sleep): Promise<Finding> {
  const over = new AbortController();
  const late = wait(CHECK_BOUND_MS, over.signal).then(() => HANGS);
  try {
    return await Promise.race([look(), late]);
  } catch (error) {
    return problem(`The check failed: ${toFleetGcError(error).message}`, REPORT);
  } finally {
    over.abort();
  }
}

const HANGS = problem(
  `It has not answered within ${CHECK_BOUND_MS / 1000} s.`,
  'Find out what hangs: what is looked at stands beside it. A service of FleetGC waits there too.',
);
const REPORT = 'Please report this: a check is to say what is wrong, and not to fail.';
