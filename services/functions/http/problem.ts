import { http } from '../../../packages/process/node-http.ts';
import type { Status } from './statuses.ts';

/** Why events are not decided on, and whether it helps to send them again. */
export interface Problem {
  readonly status: Status;
  /** For programs, e.g. `no-position`. */
  readonly kind: string;
  /** A sentence for people. */
  readonly detail: string;
  /** When to come again. */
  readonly retryAfterS?: number;
  /** Which events of several, where it is about some. */
  readonly events?: readonly EventProblem[];
}

export interface EventProblem {
  /** Its place among those that were sent, from 0. */
  readonly index: number;
  /** Of the event; `null` where it has none that can be read. */
  readonly id: string | null;
  readonly kind: string;
  readonly detail: string;
}

/** Also tells a problem from what else a function returns. */
export class Refused {
  readonly problem: Problem;

  constructor(problem: Problem) {
    this.problem = problem;
  }
}

export const refused = (status: Status, kind: string, detail: string): Refused =>
  new Refused({ status, kind, detail });

/** What will pass is asked for again after so long. */
export const RETRY_AFTER_S = 5;

export const comeAgain = (kind: string, detail: string): Refused =>
  new Refused({ status: 503, kind, detail, retryAfterS: RETRY_AFTER_S });

/** As RFC 9457 writes it. */
export const problemDocument = ({ status, kind, detail, events }: Problem): string =>
  JSON.stringify({
    type: `urn:fleetgc:problem:${kind}`,
    title: http.STATUS_CODES[status] ?? 'Problem',
    status,
    detail,
    ...(events !== undefined && { events }),
  });
