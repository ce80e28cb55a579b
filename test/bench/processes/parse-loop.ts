/** Parses and checks one inventory again and again, without any log; says how many, and what processor time it took. */
import { parseValue } from '../../../packages/records/parse/parse-record.ts';
import { fullNode } from '../inventories.ts';
import type { ScriptArguments } from './arguments.ts';

const [, , argument = ''] = process.argv;
const { seconds }: ScriptArguments['parse-loop'] = JSON.parse(argument);
const text = JSON.stringify(fullNode('node-1', { images: 200, containers: 30 }));
process.stdout.write('ready\n');
const startMs = performance.now();
let parsed = 0;
while (performance.now() - startMs < seconds * 1000) {
  if (!parseValue('inventory', JSON.parse(text)).ok) throw new Error('not an inventory');
  parsed += 1;
}
const { user, system } = process.cpuUsage();
process.stdout.write(`parsed ${parsed} in ${Math.round((user + system) / 1000)} ms.\n`);
