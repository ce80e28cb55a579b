import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { inProcess, type OwnLog, ownLog } from '../fleetgc.ts';

/** A log of its own whose fleet has one root, which can vouch for keys. */
export interface RootedLog {
  readonly own: OwnLog;
  /** The path of a file of this fleet. */
  readonly file: (name: string) => string;
  /** Writes a private key into this file; resolves to the public one. */
  readonly create: (name: string) => Promise<string>;
  /** Makes `NAME.pem` a key that the root vouches for. */
  readonly certify: (name: string, ...options: readonly string[]) => Promise<void>;
}

export async function rootedLog(): Promise<RootedLog> {
  const own = await ownLog();
  const directory = temporaryDirectory();
  const file = (name: string): string => join(directory, name);
  const create = async (name: string) => (await inProcess(['keys', 'create', file(name)])).stdout.trim();
  const root = await create('root.pem');
  const { stdout } = await inProcess(['keys', 'roots', '--fleet', 'prod', '--root', `first=${root}`]);
  writeFileSync(file('roots.yaml'), stdout);
  const rooted = ['--trust-roots', file('roots.yaml'), '--root-key-file', file('root.pem')];
  const certify = async (name: string, ...options: readonly string[]): Promise<void> => {
    const key = await create(`${name}.pem`);
    const named = ['--name', name, '--valid-for', '90d', ...options, ...rooted];
    expect(await own.run('keys', 'certify', key, ...named)).toMatchObject({ exitCode: 0 });
  };
  return { own, file, create, certify };
}
