import { writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { inProcess } from '../../cli/fleetgc.ts';

/** Keys and statements as "First set-up" makes them; `file` tells the path of each. */
export async function makeKeys(file: (name: string) => string): Promise<void> {
  const done = async (...args: readonly string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await inProcess(args);
    expect(exitCode, stderr).toBe(0);
    return stdout;
  };
  const root = (await done('keys', 'create', file('root-a.pem'))).trim();
  writeFileSync(
    file('roots.yaml'),
    await done('keys', 'roots', '--fleet', 'prod', '--root', `root-a=${root}`),
  );
  const rooted = ['--trust-roots', file('roots.yaml'), '--root-key-file', file('root-a.pem')];
  for (const [name, role] of [
    ['decider', 'decider'],
    ['operator', 'operator'],
    ['decider-2', 'decider'],
  ] as const) {
    const key = (await done('keys', 'create', file(`${name}.pem`))).trim();
    const said = ['--role', role, '--name', name, '--valid-for', '30d'];
    const statement = await done('keys', 'certify', key, ...said, ...rooted, '--offline');
    writeFileSync(file(`${name}.statement`), statement);
  }
}
