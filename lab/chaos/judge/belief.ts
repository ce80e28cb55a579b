import type { KeyAct, SigningRole } from '../fleet/keys.ts';
import type { ClockStep } from '../fleet/machine-clock.ts';

/** What roots said, and the clock of whoever asks. */
export interface Told {
  readonly acts: readonly KeyAct[];
  /** In the order of their times. */
  readonly clock: readonly ClockStep[];
}

type Certified = KeyAct & {
  readonly statement: Extract<KeyAct['statement'], { type: 'fleetgc.key-certificate' }>;
};

const isCertificate = (act: KeyAct): act is Certified => act.statement.type === 'fleetgc.key-certificate';

/** Whether somebody may believe the key at that moment who hears everything at once. */
function mayCount({ acts, clock }: Told, keyId: string, role: SigningRole, atMs: number): boolean {
  const ofKey = acts.filter(({ statement, startedMs }) => statement.keyId === keyId && startedMs <= atMs);
  const isDone = ({ endedMs }: KeyAct): boolean => endedMs !== null && endedMs <= atMs;
  if (ofKey.some((act) => !isCertificate(act) && isDone(act))) return false;
  const theirMs = Math.max(
    atMs + offsetAt(clock, atMs),
    ...acts.filter(isDone).map(({ statement }) => statement.issuedAtMs),
  );
  return ofKey
    .filter(isCertificate)
    .filter((_, index, certificates) => !certificates.slice(index + 1).some(isDone))
    .some(({ statement }) => statement.role === role && theirMs < statement.notAfterMs);
}

const offsetAt = (clock: readonly ClockStep[], atMs: number): number =>
  clock.findLast((step) => step.atMs <= atMs)?.offsetMs ?? 0;

const STEP_MS = 100;

/** The last moment before this one at which somebody may have believed it; `null`: there was none since `fromMs`. */
export function lastCountedMs(
  told: Told,
  { keyId, role, fromMs, atMs }: { keyId: string; role: SigningRole; fromMs: number; atMs: number },
): number | null {
  for (let ms = atMs; ms >= fromMs; ms -= STEP_MS) if (mayCount(told, keyId, role, ms)) return ms;
  return null;
}

/** Whether the log was to take what this key signed then, as somebody proves it later who knows all that roots said. */
export function countsAsRecorded(
  acts: readonly KeyAct[],
  keyId: string,
  role: SigningRole,
  takenAtMs: number,
): boolean {
  const ofKey = acts.filter(({ statement }) => statement.keyId === keyId).map(({ statement }) => statement);
  const last = ofKey.findLast(({ type }) => type === 'fleetgc.key-certificate');
  return (
    last?.type === 'fleetgc.key-certificate' &&
    last.role === role &&
    takenAtMs < last.notAfterMs &&
    !ofKey.some((one) => one.type === 'fleetgc.key-revocation' && takenAtMs >= one.untrustedFromMs)
  );
}
