import { doctorLines } from '../../packages/documents/doctor.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import type { DoctorReport } from '../../schemas/reports/doctor.ts';
import { type OutputFormat, printResult } from '../framework/output.ts';
import type { VerbContext } from '../framework/verb.ts';

/** Prints what was found. Throws `PROBLEM_FOUND` where something is wrong. */
export async function tellReport(
  report: DoctorReport,
  output: OutputFormat,
  { write }: Pick<VerbContext, 'write'>,
): Promise<void> {
  await printResult({ write }, output, { value: report, lines: doctorLines(report) });
  const problems = report.checks.filter(({ outcome }) => outcome === 'problem').map(({ id }) => id);
  if (problems.length > 0)
    throw new FleetGcError('PROBLEM_FOUND', `something is wrong: ${problems.join(', ')}`);
}
