import type { PlanFailure, PlanLine } from '../../schemas/plan.ts';
import { MAX_VALUE_BYTES } from '../shared/parse-record.ts';
import { planFor } from './plan.ts';
import { type RequestDefaults, readRequest } from './request.ts';
import type { Line } from './split-lines.ts';

/** Lines that follow each other; the first has this number, counted from 1. */
export interface Batch {
  readonly first: number;
  readonly lines: readonly Line[];
}

export interface Answered {
  /** A `PlanLine` for each line, in their order, each with its line feed. */
  readonly text: string;
  /** How many lines got none: they are not what they should be, or their inventory is not complete. */
  readonly withoutPlan: number;
}

/** Answers each line with its plan or with what is wrong. Never throws. */
export function answerBatch({ first, lines }: Batch, defaults: RequestDefaults): Answered {
  const answers = lines.map((line, index) => answerLine(line, first + index, defaults));
  return {
    text: answers.map(jsonLine).join(''),
    withoutPlan: answers.filter((answer) => answer.type !== 'fleetgc.plan' || answer.status !== 'planned')
      .length,
  };
}

function answerLine(line: Line, number: number, defaults: RequestDefaults): PlanLine {
  const read = line === null ? TOO_LONG : readRequest(line, defaults);
  return read.ok ? planFor(read.request) : failure(number, read.causes);
}

const TOO_LONG = { ok: false, causes: [`the line is longer than ${MAX_VALUE_BYTES} bytes`] } as const;

const failure = (line: number, causes: readonly string[]): PlanFailure => ({
  type: 'fleetgc.plan-failure',
  version: 1,
  error: { line, causes: [...causes] },
});

const jsonLine = (value: PlanLine): string => `${JSON.stringify(value)}\n`;
