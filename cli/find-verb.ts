import { FleetGcError } from '../packages/process/errors.ts';
import { nearestName } from '../packages/text/nearest-name.ts';
import type { ListedVerb } from './framework/verb.ts';
import { isFamily, VERB_FAMILIES, type VerbFamily } from './verb-families.ts';
import { ALL_VERBS } from './verb-list.ts';

/** What a command line asks for, as far as its first words say. */
export type Wanted =
  | { readonly kind: 'verb'; readonly verb: ListedVerb; readonly rest: readonly string[] }
  | { readonly kind: 'version' }
  /** `asked` is false where a verb is missing: then help is the answer to a mistake. */
  | { readonly kind: 'overview'; readonly asked: boolean }
  | { readonly kind: 'family'; readonly family: VerbFamily; readonly asked: boolean };

const HELP: ReadonlySet<string | undefined> = new Set(['--help', '-h']);
const VERSION: ReadonlySet<string | undefined> = new Set(['--version', '-V']);

/** Throws `USAGE` for a verb or option that does not exist, with the name that was probably meant. */
export function findVerb(argv: readonly string[]): Wanted {
  const [first, ...others] = argv;
  if (first === undefined) return { kind: 'overview', asked: false };
  if (first === 'help') return findVerb(others.length === 0 ? ['--help'] : [...others, '--help']);
  if (HELP.has(first)) return { kind: 'overview', asked: true };
  if (VERSION.has(first)) return { kind: 'version' };
  if (first.startsWith('-')) throw optionBeforeVerb(withoutValue(first));
  return verbAt(argv) ?? familyAt(argv) ?? unknownVerb(argv);
}

function verbAt(argv: readonly string[]): Wanted | undefined {
  // The longest: `audit archive check` begins as `audit archive` does.
  const [verb] = ALL_VERBS.filter(({ name }) =>
    name.split(' ').every((word, index) => argv[index] === word),
  ).toSorted((a, b) => b.name.length - a.name.length);
  return verb && { kind: 'verb', verb, rest: argv.slice(verb.name.split(' ').length) };
}

function familyAt([family = '', next]: readonly string[]): Wanted | undefined {
  if (!isFamily(family)) return undefined;
  if (next === undefined || HELP.has(next)) return { kind: 'family', family, asked: HELP.has(next) };
  if (!next.startsWith('-')) return undefined;
  throw new FleetGcError(
    'USAGE',
    `${family} needs a verb before ${withoutValue(next)}; fleetgc ${family} --help lists them`,
  );
}

function unknownVerb(argv: readonly string[]): never {
  const words = argv.slice(0, 2).filter((word) => !word.startsWith('-'));
  const [family = ''] = words;
  const said = isFamily(family) ? words.join(' ') : family;
  const meant = meantBy(words);
  throw new FleetGcError(
    'USAGE',
    `there is no verb "${said}"; ${meant === undefined ? `${helpOf(family)} lists them` : `did you mean "${meant}"?`}`,
  );
}

const helpOf = (family: string): string => (isFamily(family) ? `fleetgc ${family} --help` : 'fleetgc --help');

/** Also finds `policy apply` for `apply`. */
function meantBy(words: readonly string[]): string | undefined {
  const names = ALL_VERBS.map(({ name }) => name);
  const byLastWord = new Map(names.toReversed().map((name) => [name.split(' ').at(-1) ?? name, name]));
  const [first = ''] = words;
  if (isFamily(first)) return nearestName(words.join(' '), names);
  const lastWord = nearestName(first, byLastWord.keys());
  return (
    nearestName(words.join(' '), names) ??
    nearestName(first, Object.keys(VERB_FAMILIES)) ??
    (lastWord === undefined ? undefined : byLastWord.get(lastWord))
  );
}

/** A value may be a secret. */
const withoutValue = (option: string): string => option.replace(/=.*/s, '');

function optionBeforeVerb(option: string): FleetGcError {
  const meant = nearestName(option, ['--help', '--version']);
  return new FleetGcError(
    'USAGE',
    meant === undefined
      ? `there is no option ${option} before the verb; options of a verb follow it, as in "fleetgc run --log-level debug"`
      : `there is no option ${option}; did you mean ${meant}?`,
  );
}
