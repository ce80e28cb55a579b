/** The runner behind `npm run compare:kubelet`. */
import { join } from 'node:path';
import { builtKubeletCollectors } from '../../../test/support/toolchain/kubernetes.ts';
import { type Account, accountLines, compareCollector } from './compare.ts';
import { HELP, type KubeletOptions, parseOptions } from './options.ts';

const tell = (text: string): void => void process.stderr.write(`${text}\n`);

async function main(options: KubeletOptions): Promise<void> {
  const program = join(await builtKubeletCollectors(), 'kubelet-collectors');
  const accounts: Account[] = [];
  for (const collector of options.collectors)
    accounts.push(await compareCollector(collector, options, { program, tell }));
  const text = options.json
    ? JSON.stringify(accounts, null, 2)
    : accounts.flatMap((account) => accountLines(account)).join('\n');
  process.stdout.write(`${text}\n`);
  process.exitCode = accounts.every(({ different }) => different === 0) ? 0 : 1;
}

/** `null` where there is nothing to compare, after saying so. */
function asked(args: readonly string[]): KubeletOptions | null {
  try {
    const options = parseOptions(args);
    if (options !== null) return options;
    process.stdout.write(HELP);
  } catch (error) {
    tell(`${error instanceof Error ? error.message : error}\n\n${HELP}`);
    process.exitCode = 2;
  }
  return null;
}

try {
  const options = asked(process.argv.slice(2));
  if (options !== null) await main(options);
} catch (error) {
  tell(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 2;
}
