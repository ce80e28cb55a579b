/** Loaded into each process of a soak before its own program: on SIGUSR2 it collects garbage, and writes down what is left. */
import { writeFileSync } from 'node:fs';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const path = process.env.SOAK_HEAP_FILE ?? '';
setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

/** Functions are compiled as they come to be used often, for a long while: how much that is says nothing of what is kept. */
const CODE = /^(code|trusted)_/;
const codeBytes = (): number =>
  getHeapSpaceStatistics()
    .filter(({ space_name: name }) => CODE.test(name))
    .reduce((sum, { space_used_size: used }) => sum + used, 0);

process.on('SIGUSR2', () => {
  if (typeof collect !== 'function') return;
  // What a first pass finds to be dead may hold up others until the second.
  for (let pass = 0; pass < 2; pass += 1) collect();
  const { heapUsed, external } = process.memoryUsage();
  const code = codeBytes();
  writeFileSync(path, JSON.stringify({ heapBytes: heapUsed + external - code, codeBytes: code }));
});
