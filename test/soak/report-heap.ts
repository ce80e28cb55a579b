/** Loaded into each process of a soak before its own program: on SIGUSR2 it collects garbage, and writes down what is left. */
import { writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const path = process.env.SOAK_HEAP_FILE ?? '';
setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

process.on('SIGUSR2', () => {
  if (typeof collect !== 'function') return;
  // What a first pass finds to be dead may hold up others until the second.
  for (let pass = 0; pass < 2; pass += 1) collect();
  const { heapUsed, external } = process.memoryUsage();
  writeFileSync(path, JSON.stringify({ heapBytes: heapUsed + external }));
});
