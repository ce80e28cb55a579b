import { PROBLEM_TYPES, type ProblemKind } from './problem-types.ts';

/** Why events are not decided on, and whether it helps to send them again. */
export interface Problem {
  readonly kind: ProblemKind;
  /** A sentence for people. */
  readonly detail: string;
  /** Which events of several, where it is about some. */
  readonly events?: readonly EventProblem[];
}

export interface EventProblem {
  /** Its place among those that were sent, from 0. */
  readonly index: number;
  /** Of the event; `null` where it has none that can be read. */
  readonly id: string | null;
  readonly kind: ProblemKind;
  readonly detail: string;
}

/** Also tells a problem from what else a function returns. */
export class Refused {
  readonly problem: Problem;

  constructor(problem: Problem) {
    this.problem = problem;
  }
}

export const refused = (kind: ProblemKind, detail: string): Refused => new Refused({ kind, detail });

/** What will pass is asked for again after so long. */
export const RETRY_AFTER_S = 5;

/** As RFC 9457 writes it. */
export function problemDocument({ kind, detail, events }: Problem): string {
  const { title, status } = PROBLEM_TYPES[kind];
  return JSON.stringify({
    type: `urn:fleetgc:problem:${kind}`,
    title,
    status,
    detail,
    ...(events !== undefined && { events }),
  });
}
