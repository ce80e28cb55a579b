import { FleetGcError, toFleetGcError } from '../packages/process/errors.ts';
import { failureText } from '../packages/text/lines-text.ts';
import {
  namedAs,
  pluginEnvironment,
  programName,
  requireSupportedNode,
  versionLine,
} from './framework/program.ts';
import type { CommandProcess } from './framework/run-verb.ts';
import { type ListedVerb, loadVerb } from './framework/verb.ts';
import {
  ALL_VERBS,
  findVerb,
  loadAllVerbs,
  VERB_FAMILIES,
  VERB_GROUPS,
  type VerbFamily,
  type Wanted,
} from './verbs.ts';

/** Runs `fleetgc` with these arguments. Returns the exit code. */
export async function runCli(
  argv: readonly string[],
  commandProcess: CommandProcess,
  platform: NodeJS.Platform = process.platform,
  node: string = process.versions.node,
): Promise<number> {
  const calledAs = asCalled(commandProcess);
  try {
    requireSupportedNode(node);
    const [first, ...words] = argv;
    if (first === COMPLETE) return await complete(words, calledAs);
    return await carryOut(findVerb(argv), calledAs, platform);
  } catch (thrown) {
    const { lines, exitCode } = toFleetGcError(thrown);
    calledAs.stderr.write(failureText('fleetgc', lines));
    return exitCode;
  }
}

/** For `bin/kubectl_complete-fleetgc` alone. */
const COMPLETE = '__complete';

async function complete(words: readonly string[], { writeOut }: CommandProcess): Promise<number> {
  const { answerToKubectl } = await import('./verbs/about.ts');
  await writeOut(answerToKubectl(await loadAllVerbs(), words));
  return 0;
}

/** As a plugin of kubectl its hints name the commands that people type there. */
function asCalled(commandProcess: CommandProcess): CommandProcess {
  const { environment, stderr } = commandProcess;
  const program = programName(environment);
  if (program === 'fleetgc') return commandProcess;
  return {
    ...commandProcess,
    environment: pluginEnvironment(environment),
    stderr: { ...stderr, write: (text) => stderr.write(namedAs(program, text)) },
  };
}

async function carryOut(
  wanted: Wanted,
  commandProcess: CommandProcess,
  platform: NodeJS.Platform,
): Promise<number> {
  switch (wanted.kind) {
    case 'version':
      await commandProcess.writeOut(`${versionLine(process.versions.node)}\n`);
      return 0;
    case 'overview':
      return await showHelp(overviewHelp(), wanted.asked, commandProcess);
    case 'family':
      return await showHelp(familyHelp(wanted.family), wanted.asked, commandProcess);
    case 'verb': {
      // Loaded here, so that the list of verbs is shown without reading the code of any.
      const { runGivenVerb } = await import('./framework/run-verb.ts');
      const verb = await loadVerb(wanted.verb);
      const given = { verb, rest: wanted.rest, allVerbs: loadAllVerbs };
      return await runGivenVerb(given, commandProcess, platform);
    }
  }
}

/** Help that nobody asked for is the answer to a missing verb. */
async function showHelp(
  text: string,
  asked: boolean,
  { writeOut, stderr, environment }: CommandProcess,
): Promise<number> {
  if (!asked) {
    stderr.write(`${text}\n`);
    throw new FleetGcError('USAGE', 'a verb is missing');
  }
  await writeOut(namedAs(programName(environment), text));
  return 0;
}

const INDENT = '  ';
const GAP = 2;

/** `fleetgc --help`. */
const overviewHelp = (): string =>
  [
    'Usage: fleetgc <verb> [options]',
    '',
    'Removes unused images, dead containers, pod sandboxes and pod logs from the nodes of a fleet,',
    'and orphaned or expired objects from Kubernetes clusters.',
    'Nothing is removed without a policy that says "mode: enforce".',
    ...VERB_GROUPS.flatMap(({ heading, verbs }) => ['', heading, ...table(verbs)]),
    '',
    'Help on one verb:  fleetgc <verb> --help',
    'Version:           fleetgc version',
    'Exit codes:        0 done, 1 failed, 2 wrong options or an invalid policy',
    '',
  ].join('\n');

/** `fleetgc policy --help` and the like. */
const familyHelp = (family: VerbFamily): string =>
  [
    `Usage: fleetgc ${family} <verb> [options]`,
    '',
    `${VERB_FAMILIES[family]}.`,
    '',
    ...table(ALL_VERBS.filter(({ name }) => name.startsWith(`${family} `))),
    '',
    `Help on one verb:  fleetgc ${family} <verb> --help`,
    '',
  ].join('\n');

function table(verbs: readonly ListedVerb[]): readonly string[] {
  const width = Math.max(...ALL_VERBS.map(({ name }) => name.length)) + GAP;
  return verbs.map(({ name, summary }) => `${INDENT}${name.padEnd(width)}${summary}`);
}
