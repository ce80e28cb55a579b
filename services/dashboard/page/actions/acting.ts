import type {
  DashboardAction,
  DashboardActionDone,
  DashboardActionName,
} from '../../../../schemas/reports/dashboard-actions.ts';
import type { Answered } from '../asking.ts';
import { askedOf } from '../asking.ts';

/** What an action is about, without what its dialog asks for. */
export type About<Name extends DashboardActionName> = Omit<DashboardAction<Name>, 'id' | 'reason'>;

/** A UUID; what makes one in the browser is there over HTTPS alone. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Asks for it to be done. Under one id it is done once, however often it is asked for. */
export const askFor = <Name extends DashboardActionName>(
  name: Name,
  about: About<Name>,
  said: { readonly id: string; readonly reason: string },
): Promise<Answered<DashboardActionDone>> =>
  askedOf<DashboardActionDone>(`/api/actions/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...about, ...said }),
  }).catch(() => ({ kind: 'refused', status: 0, problem: NO_ANSWER }));

const NO_ANSWER =
  'the dashboard does not answer, so nobody knows whether it was done: look at History before you do it again';
