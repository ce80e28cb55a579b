import type { PlanFailure } from '../../schemas/plan.ts';
import { MAX_VALUE_BYTES } from '../shared/parse-record.ts';
import { planFor } from './plan.ts';
import { type RequestDefaults, readRequest } from './request.ts';
import type { Line } from './split-lines.ts';

/** The answer to one line. */
export interface Answer {
  /** A `PlanLine` with its line feed. */
  readonly text: string;
  /** False where there is no plan: the line is not what it should be, or its inventory is not complete. */
  readonly isPlanned: boolean;
}

/** Answers the line of this number, from 1, with its plan or with what is wrong. Never throws. */
export function answerLine(line: Line, number: number, defaults: RequestDefaults): Answer {
  const read = line === null ? TOO_LONG : readRequest(line, defaults);
  if (!read.ok) return { text: jsonLine(failure(number, read.causes)), isPlanned: false };
  const plan = planFor(read.request);
  return { text: jsonLine(plan), isPlanned: plan.status === 'planned' };
}

const TOO_LONG = { ok: false, causes: [`the line is longer than ${MAX_VALUE_BYTES} bytes`] } as const;

const failure = (line: number, causes: readonly string[]): PlanFailure => ({
  type: 'fleetgc.plan-failure',
  version: 1,
  error: { line, causes: [...causes] },
});

const jsonLine = (value: unknown): string => `${JSON.stringify(value)}\n`;
