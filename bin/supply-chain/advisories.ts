import { execFile } from 'node:child_process';
import { z } from 'zod';

/** What a registry knows against the packages that are shipped. */
export type Advisories =
  | { readonly kind: 'found'; readonly packages: readonly string[] }
  | { readonly kind: 'not-asked'; readonly reason: string };

const SERIOUS: readonly string[] = ['high', 'critical'];
const BOUND_MS = 30_000;
const ARGUMENTS = ['audit', '--omit=dev', '--audit-level=high', '--json', '--fetch-retries=0'];

const Report = z.looseObject({
  auditReportVersion: z.literal(2),
  vulnerabilities: z.record(z.string(), z.looseObject({ severity: z.string(), range: z.string() })),
});
const Refusal = z.looseObject({ message: z.string() });

/** Asks the registry that npm is set up with. One that does not answer within `boundMs` was not asked. */
export async function askAdvisories(
  repository: string,
  environment: NodeJS.ProcessEnv,
  boundMs = BOUND_MS,
): Promise<Advisories> {
  const answer = await npmAudit(repository, environment, boundMs);
  const report = Report.safeParse(answer);
  if (report.success) return { kind: 'found', packages: seriousOf(report.data) };
  const refusal = Refusal.safeParse(answer);
  if (refusal.success) return { kind: 'not-asked', reason: refusal.data.message };
  throw new Error(`npm audit answered with neither a report nor a reason: ${JSON.stringify(answer)}`);
}

const seriousOf = ({ vulnerabilities }: z.infer<typeof Report>): readonly string[] =>
  Object.entries(vulnerabilities)
    .filter(([, { severity }]) => SERIOUS.includes(severity))
    .map(([name, { severity, range }]) => `${name} ${range} (${severity})`);

/** What npm writes as JSON, whatever its exit code: it is not 0 for findings and for a registry that is away alike. */
function npmAudit(cwd: string, env: NodeJS.ProcessEnv, boundMs: number): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  execFile('npm', ARGUMENTS, { cwd, env, timeout: boundMs }, (error, stdout) => {
    if (error?.killed) return resolve({ message: `no answer within ${boundMs / 1000} s` });
    try {
      resolve(JSON.parse(stdout));
    } catch {
      reject(error ?? new Error(`npm audit wrote no JSON: ${stdout}`));
    }
  });
  return promise;
}
