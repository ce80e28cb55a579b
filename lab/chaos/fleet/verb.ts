import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { withoutProgress } from '../../../test/cli/fleetgc.ts';

export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A verb of the product in a process of its own, as an operator runs it, against one broker. */
export type RunVerb = (args: readonly string[], stdin?: string) => Promise<Ended>;

export const verbs =
  (program: string, environment: Readonly<Record<string, string>>): RunVerb =>
  async (args, stdin = '') => {
    const child = spawn(program, args, { env: environment });
    const output = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        output[stream] += text;
      });
    child.stdin.on('error', () => undefined).end(stdin);
    const [exitCode] = await once(child, 'close');
    return { exitCode, stdout: output.stdout, stderr: withoutProgress(output.stderr) };
  };

/** Where somebody finds whom to believe, and what to sign with; `null`: he signs nothing. */
export interface KeyPaths {
  readonly roots: string;
  readonly signingKey: string | null;
}

/** What everybody is told. */
export const fleetEnvironment = (
  address: string,
  { roots, signingKey }: KeyPaths,
  { NODE_COMPILE_CACHE }: NodeJS.ProcessEnv = process.env,
): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
  FLEETGC_KAFKA_BROKERS: address,
  FLEETGC_TRUST: 'required',
  FLEETGC_TRUST_ROOTS: roots,
  ...(signingKey !== null && { FLEETGC_SIGNING_KEY_FILE: signingKey }),
  FLEETGC_KAFKA_REPLICATION_FACTOR: '1',
});
