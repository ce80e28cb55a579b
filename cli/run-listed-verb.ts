import { FleetGcError } from '../packages/process/errors.ts';
import type { OptionSources } from '../packages/process/options/config.ts';
import { readTextFile } from '../packages/process/options/text-file.ts';
import { runVerb } from './framework/run-verb.ts';
import type { ListedVerb } from './framework/verb.ts';
import type { CliOutside } from './outside.ts';
import { talkTo } from './talk.ts';
import { CONFIG_VARIABLE, unknownVariables } from './unknown-variables.ts';
import { readVerbArguments } from './verb-arguments.ts';
import { loadAllVerbs, loadVerb } from './verb-list.ts';

/** Loads the verb, reads its options from everywhere, and runs it. Returns the exit code. */
export async function runListedVerb(
  listed: ListedVerb,
  rest: readonly string[],
  { environment, control, writeOut, terminalColumns, stderr }: CliOutside,
): Promise<number> {
  const verb = await loadVerb(listed);
  const given = readVerbArguments(verb, rest);
  if (given.kind === 'help') {
    await writeOut(given.text);
    return 0;
  }
  const file = readConfigFile(given.configPath ?? environment[CONFIG_VARIABLE]);
  const sources = { flags: given.flags, environment, file, otherKeys: await otherKeys(file) };
  return await runVerb(verb, sources, {
    control,
    stderr: isService(listed, given.flags) ? stderr : talkTo(stderr),
    endless: isService(listed, given.flags),
    print: (line) => void writeOut(`${line}\n`),
    write: writeOut,
    terminalColumns,
    warnings: await unknownVariables(environment, verb, loadAllVerbs),
  });
}

const isService = ({ kind, serviceSwitch }: ListedVerb, flags: OptionSources['flags']): boolean =>
  kind === 'service' || (serviceSwitch !== undefined && flags[serviceSwitch] === true);

function readConfigFile(path: string | undefined): OptionSources['file'] {
  if (path === undefined || path === '') return null;
  const read = readTextFile(path);
  if (read.ok) return { path, text: read.text };
  throw new FleetGcError('CONFIG_INVALID', `the config file ${path} cannot be read: ${read.reason}`);
}

/** One config file may serve every verb of a machine, so it may name options of others. */
async function otherKeys(file: OptionSources['file']): Promise<ReadonlySet<string>> {
  if (file === null) return new Set();
  const verbs = await loadAllVerbs();
  return new Set(
    verbs.flatMap(({ options }) => options.filter(({ positional }) => !positional).map(({ key }) => key)),
  );
}
