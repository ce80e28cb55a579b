import { z } from 'zod';

/** The part of vitest's JSON report that is counted here. */
const Report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(z.object({ status: z.string() })),
    }),
  ),
});

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  /** What failed beside tests, in words. */
  readonly problems: readonly string[];
}

/**
 * Counts a run from its report and from how vitest ended. A test that did not run counts as failed, and so does a file
 * that could not be loaded, a run that ends badly though all tests passed, and one without any test.
 */
export function countTests(reportJson: string | null, endedWell: boolean): Counts {
  if (reportJson === null) return { passed: 0, failed: 1, problems: ['vitest wrote no report'] };
  const { testResults } = Report.parse(JSON.parse(reportJson));
  const statuses = testResults.flatMap(({ assertionResults }) =>
    assertionResults.map(({ status }) => status),
  );
  const passed = statuses.filter((status) => status === 'passed').length;
  const notRun = statuses.filter((status) => status !== 'passed' && status !== 'failed').length;
  const problems = testResults.filter(isBrokenFile).map(({ name }) => `${name} failed as a whole`);
  const failed = statuses.length - passed + problems.length;
  if (notRun > 0) problems.push(`${notRun} tests did not run; each counts as failed`);
  if (statuses.length === 0)
    return { passed, failed: Math.max(failed, 1), problems: [...problems, 'no test ran'] };
  if (failed > 0 || endedWell) return { passed, failed, problems };
  return { passed, failed: 1, problems: ['every test passed, and yet vitest ended with an error'] };
}

function isBrokenFile({ status, assertionResults }: z.infer<typeof Report>['testResults'][number]): boolean {
  return status === 'failed' && assertionResults.every((result) => result.status === 'passed');
}
