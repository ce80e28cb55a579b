import { canInstall, install } from './apt.ts';
import { succeeds } from './command.ts';

const QUICK_MS = 30_000;

/** Debian's own Python, for which its packages are. */
export const DEBIAN_PYTHON = '/usr/bin/python3';

/** Programs and libraries of others that speak Kafka, by what shows that they are there. */
const CLIENTS: Readonly<Record<string, readonly [program: string, ...args: readonly string[]]>> = {
  kcat: ['kcat', '-V'],
  'python3-confluent-kafka': [DEBIAN_PYTHON, '-c', 'import confluent_kafka'],
};

/** kcat, and the library of Confluent for Python. */
export async function ensureForeignClients(): Promise<void> {
  const missing: string[] = [];
  for (const [name, [program, ...args]] of Object.entries(CLIENTS))
    if (!(await succeeds(program, args, QUICK_MS))) missing.push(name);
  if (missing.length === 0) return;
  if (!canInstall())
    throw new Error(`the event log is read with clients that are not ours: install ${missing.join(', ')}`);
  await install(missing);
}
