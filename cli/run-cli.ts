import packageJson from '../package.json' with { type: 'json' };
import { FleetGcError, toFleetGcError } from '../packages/process/errors.ts';
import { findVerb, type Wanted } from './find-verb.ts';
import { familyHelp, overviewHelp } from './help.ts';
import type { CliOutside } from './outside.ts';

/** Runs `fleetgc` with these arguments. Returns the exit code. */
export async function runCli(argv: readonly string[], outside: CliOutside): Promise<number> {
  try {
    return await carryOut(findVerb(argv), outside);
  } catch (thrown) {
    const { message, exitCode } = toFleetGcError(thrown);
    outside.stderr.write(`fleetgc: ${message}\n`);
    return exitCode;
  }
}

async function carryOut(wanted: Wanted, outside: CliOutside): Promise<number> {
  switch (wanted.kind) {
    case 'version':
      await outside.writeOut(`fleetgc ${packageJson.version}\n`);
      return 0;
    case 'overview':
      return await showHelp(overviewHelp(), wanted.asked, outside);
    case 'family':
      return await showHelp(familyHelp(wanted.family), wanted.asked, outside);
    case 'verb': {
      // Loaded here, so that the list of verbs is shown without reading the code of any.
      const { runListedVerb } = await import('./run-listed-verb.ts');
      return await runListedVerb(wanted.verb, wanted.rest, outside);
    }
  }
}

/** Help that nobody asked for is the answer to a missing verb. */
async function showHelp(text: string, asked: boolean, { writeOut, stderr }: CliOutside): Promise<number> {
  if (!asked) {
    stderr.write(`${text}\n`);
    throw new FleetGcError('USAGE', 'a verb is missing');
  }
  await writeOut(text);
  return 0;
}
