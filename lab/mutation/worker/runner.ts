import { appendFileSync, readFileSync } from 'node:fs';
import { TestRunner } from 'vitest';
import { z } from 'zod';
import { coverFile } from './cover.ts';
import { FileRuns } from './file-runs.ts';
import { Job, type Progress, Task } from './job.ts';
import { judgeAll } from './judge.ts';

/** Does the job before the anchor's test: inside of a test Vitest lets no other begin. */
export default class MutationRunner extends TestRunner {
  async onBeforeRunFiles(): Promise<void> {
    const job = Job.parse(JSON.parse(readFileSync(z.string().parse(process.env.MUTATION_JOB), 'utf8')));
    const tell = (progress: Progress): void => appendFileSync(job.progress, `${JSON.stringify(progress)}\n`);
    const runs = new FileRuns(this);
    if (job.mode === 'cover') for (const file of job.tests) tell(await coverFile(runs, file));
    else {
      const tasks = z.array(Task).parse(JSON.parse(readFileSync(job.tasks, 'utf8')));
      await judgeAll(runs, tasks, tell);
    }
    tell({ kind: 'done' });
  }

  // What Vitest does here needs the state of the anchor, which other files have taken over.
  override async onAfterRunSuite(): Promise<void> {}
}
