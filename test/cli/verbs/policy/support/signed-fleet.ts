import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { type Ended, inProcess, type OwnLog, ownLog } from '../../../fleetgc.ts';

export interface SignedFleet {
  readonly own: OwnLog;
  readonly file: (name: string) => string;
  /** Runs a verb with the key of this name. */
  readonly as: (key: string, ...args: readonly string[]) => Promise<Ended>;
}

/** A log of its own on which an operator, a pauser, a decider and an operator of one cluster have keys. */
export async function signedFleet(): Promise<SignedFleet> {
  const own = await ownLog();
  const directory = temporaryDirectory();
  const file = (name: string): string => join(directory, name);
  const create = async (name: string) => (await inProcess(['keys', 'create', file(name)])).stdout.trim();
  const root = await create('root.pem');
  const { stdout } = await inProcess(['keys', 'roots', '--fleet', 'prod', '--root', `first=${root}`]);
  writeFileSync(file('roots.yaml'), stdout);
  writeFileSync(file('web.yaml'), 'name: web\nmode: dry-run\n');
  writeFileSync(file('other.yaml'), 'name: web\nmode: enforce\n');
  writeFileSync(file('eu.yaml'), 'name: eu.web\nmode: dry-run\nselector: {clusters: [eu]}\n');
  const rooted = ['--trust-roots', file('roots.yaml'), '--root-key-file', file('root.pem')];
  const certify = async (name: string, ...more: readonly string[]) => {
    const key = await create(`${name}.pem`);
    const named = ['--name', name, '--valid-for', '90d', ...more, ...rooted];
    expect(await own.run('keys', 'certify', key, ...named)).toMatchObject({ exitCode: 0 });
  };
  await certify('operator', '--role', 'operator');
  await certify('second', '--role', 'operator');
  await certify('eu', '--role', 'operator', '--cluster', 'eu');
  await certify('pauser', '--role', 'pauser');
  await certify('dashboard', '--role', 'dashboard');
  await certify('eu-dashboard', '--role', 'dashboard', '--cluster', 'eu');
  await certify('decider', '--role', 'decider');
  const as: SignedFleet['as'] = (key, ...args) =>
    own.run(
      ...args,
      ...['--trust', 'required', '--trust-roots', file('roots.yaml')],
      ...['--signing-key-file', file(`${key}.pem`)],
    );
  return { own, file, as };
}
