import type { ListedVerb } from './framework/verb.ts';
import { ALL_VERBS, VERB_FAMILIES, VERB_GROUPS, type VerbFamily } from './verbs.ts';

const INDENT = '  ';
const GAP = 2;

/** `fleetgc --help`. */
export const overviewHelp = (): string =>
  [
    'Usage: fleetgc <verb> [options]',
    '',
    'Removes images, dead containers, sandboxes and pod logs that nobody needs from the nodes of a fleet,',
    'and objects that nobody needs from Kubernetes clusters.',
    'Nothing is removed without a policy that says "mode: enforce".',
    ...VERB_GROUPS.flatMap(({ heading, verbs }) => ['', heading, ...table(verbs)]),
    '',
    'Help on one verb:  fleetgc <verb> --help',
    'Version:           fleetgc version',
    'Exit codes:        0 done, 1 failed, 2 wrong options or an invalid policy',
    '',
  ].join('\n');

/** `fleetgc policy --help` and the like. */
export const familyHelp = (family: VerbFamily): string =>
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
