import type { CheckOutcome, DoctorCheck, DoctorReport } from '../../schemas/reports/doctor.ts';
import { counted } from '../text/counted.ts';
import { printableLine } from '../text/printable.ts';

/** What is wrong first. */
const ORDER = ['problem', 'warning', 'ok', 'skipped'] as const satisfies readonly CheckOutcome[];
const OUTCOME_WIDTH = Math.max(...ORDER.map((outcome) => outcome.length)) + 2;

export function doctorLines({ checks }: DoctorReport): readonly string[] {
  const width = Math.max(...checks.map(({ id }) => id.length)) + 2;
  const sorted = ORDER.flatMap((outcome) => checks.filter((check) => check.outcome === outcome));
  return [...sorted.flatMap((check) => linesOf(check, width)), '', summary(checks)].map(printableLine);
}

function linesOf({ id, outcome, seen, todo }: DoctorCheck, width: number): readonly string[] {
  const indent = ' '.repeat(OUTCOME_WIDTH);
  const [first = '', ...more] = seen.split('\n');
  return [
    `${outcome.padEnd(OUTCOME_WIDTH)}${id.padEnd(width)}${first}`,
    ...more.map((line) => `${indent}${line.trimStart()}`),
    ...(todo === null ? [] : [`${indent}→ ${todo}`]),
  ];
}

const summary = (checks: readonly DoctorCheck[]): string =>
  ORDER.map((outcome) => countText(outcome, checks.filter((check) => check.outcome === outcome).length)).join(
    ', ',
  );

const countText = (outcome: CheckOutcome, count: number): string =>
  outcome === 'problem' || outcome === 'warning' ? counted(count, outcome) : `${count} ${outcome}`;
