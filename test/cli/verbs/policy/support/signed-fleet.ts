import { writeFileSync } from 'node:fs';
import type { Ended } from '../../../fleetgc.ts';
import { type RootedLog, rootedLog } from '../../rooted-log.ts';

export interface SignedFleet extends Pick<RootedLog, 'own' | 'file'> {
  /** Runs a verb with the key of this name. */
  readonly as: (key: string, ...args: readonly string[]) => Promise<Ended>;
}

/** A log of its own on which an operator, a pauser, a decider and an operator of one cluster have keys. */
export async function signedFleet(): Promise<SignedFleet> {
  const { own, file, certify } = await rootedLog();
  writeFileSync(file('web.yaml'), 'name: web\nmode: dry-run\n');
  writeFileSync(file('other.yaml'), 'name: web\nmode: enforce\n');
  writeFileSync(file('eu.yaml'), 'name: eu.web\nmode: dry-run\nselector: {clusters: [eu]}\n');
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
