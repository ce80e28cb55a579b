import { TOPICS } from '../../schemas/events/topics.ts';
import type { PlanFailure, PlanLine } from '../../schemas/reports/plan.ts';
import { printableJson } from '../text/printable.ts';
import { planFor } from './plan.ts';
import { type RequestDefaults, readRequest } from './request.ts';

/** Lines that follow each other; the first has this number, counted from 1. */
interface Batch {
  readonly first: number;
  readonly lines: readonly Line[];
}

interface Answered {
  /** A `PlanLine` for each line that is not blank, in their order, each with its line feed. */
  readonly text: string;
  readonly answers: number;
  /** How many of them are no plan: the lines are not what they should be, or their inventory is not complete. */
  readonly withoutPlan: number;
}

/** Answers each line with its plan or with what is wrong; a blank one asks nothing. Never throws. */
export function answerBatch({ first, lines }: Batch, defaults: RequestDefaults): Answered {
  const answers = lines.flatMap((line, index) =>
    isBlank(line) ? [] : [answerLine(line, first + index, defaults)],
  );
  return {
    text: answers.map(jsonLine).join(''),
    answers: answers.length,
    withoutPlan: answers.filter((answer) => answer.type !== 'fleetgc.plan' || answer.status !== 'planned')
      .length,
  };
}

/** Nothing but what JSON takes for space. */
const isBlank = (line: Line): boolean => line?.every((byte) => BLANKS.includes(byte)) === true;
const BLANKS = Buffer.from(' \t\r');

function answerLine(line: Line, number: number, defaults: RequestDefaults): PlanLine {
  const read = line === null ? TOO_LONG : readRequest(line, defaults);
  return read.ok ? planFor(read.request) : failure(number, read.causes);
}

/** A line is an inventory, or has one in it. */
export const MAX_LINE_BYTES = TOPICS.inventory.bounds.bytes;

const TOO_LONG = { ok: false, causes: [`the line is longer than ${MAX_LINE_BYTES} bytes`] } as const;

const failure = (line: number, causes: readonly string[]): PlanFailure => ({
  type: 'fleetgc.plan-failure',
  version: 1,
  error: { line, causes: [...causes] },
});

const jsonLine = (value: PlanLine): string => `${printableJson(JSON.stringify(value))}\n`;

const LINE_FEED = 0x0a;

/** A line without its end; `null` for one that is longer than allowed, of which nothing is kept. */
type Line = Buffer | null;

/**
 * The lines of a stream, together those that one chunk completes, so that who answers them decides when more is read.
 * What follows the last line feed is a line too, unless it is empty.
 */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  mostBytes: number,
): AsyncGenerator<readonly Line[]> {
  let parts: Buffer[] = [];
  let bytes = 0;
  const take = (part: Buffer): void => {
    bytes += part.length;
    if (bytes <= mostBytes) parts.push(part);
    else parts = [];
  };
  const end = (): Line => {
    const line = bytes <= mostBytes ? Buffer.concat(parts) : null;
    parts = [];
    bytes = 0;
    return line;
  };
  for await (const chunk of chunks) {
    const lines: Line[] = [];
    let from = 0;
    for (let to = chunk.indexOf(LINE_FEED); to >= 0; to = chunk.indexOf(LINE_FEED, from)) {
      take(chunk.subarray(from, to));
      lines.push(end());
      from = to + 1;
    }
    take(chunk.subarray(from));
    if (lines.length > 0) yield lines;
  }
  if (bytes > 0) yield [end()];
}
