import { FleetGcError } from '../../packages/process/errors.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import type { OptionSources } from '../../packages/process/options/read-options.ts';
import { nearestName } from '../../packages/text/nearest-name.ts';
import { whyMissing } from './called-as.ts';
import type { LoadVerbs, Verb } from './verb.ts';

type Environment = OptionSources['environment'];

const PREFIX = 'FLEETGC_';
const CONFIG_VARIABLE = 'FLEETGC_CONFIG';

/** Kubernetes gives every container variables for each service, which may well be called fleetgc. */
const OF_A_SERVICE = /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;
const SERVICE_URL = /^(tcp|udp|sctp):\/\//;

interface Given {
  readonly flags: OptionSources['flags'];
  /** Of the config file, as the command line has it. */
  readonly configPath: string | undefined;
  readonly environment: Environment;
}

/** Everything that options are read from. The code of the other verbs is only loaded where there is a config file. */
export async function gatherSources(
  { flags, configPath, environment }: Given,
  allVerbs: LoadVerbs,
): Promise<OptionSources> {
  const file = readConfigFile(configPath ?? environment[CONFIG_VARIABLE]);
  const otherKeys = file === null ? new Set<string>() : fileKeys(await allVerbs());
  return { flags, environment, file, otherKeys, whyMissing: whyMissing(environment) };
}

function readConfigFile(path: string | undefined): OptionSources['file'] {
  if (path === undefined || path === '') return null;
  const read = readTextFile(path);
  if (read.ok) return { path, text: read.text };
  throw new FleetGcError('CONFIG_INVALID', `the config file ${path} cannot be read: ${read.reason}`);
}

/** One config file may serve every verb of a machine, so it may name options of others. */
const fileKeys = (verbs: readonly Verb[]): ReadonlySet<string> =>
  new Set(
    verbs.flatMap(({ options }) => options.filter(({ positional }) => !positional).map(({ key }) => key)),
  );

/**
 * One sentence for each variable that looks like a setting and is none of any verb's. The code of the other verbs is
 * only loaded (`allVerbs`) where `verb` alone does not explain them all.
 */
export async function unknownVariables(
  environment: Environment,
  verb: Verb,
  allVerbs: LoadVerbs,
): Promise<readonly string[]> {
  const own = variablesOf([verb]);
  const notOwn = settingsIn(environment).filter((name) => !own.has(name));
  if (notOwn.length === 0) return [];
  const known = variablesOf(await allVerbs());
  return notOwn.filter((name) => !known.has(name)).map((name) => unknownText(name, known));
}

const settingsIn = (environment: Environment): readonly string[] =>
  Object.entries(environment).flatMap(([name, value = '']) =>
    name.startsWith(PREFIX) && value !== '' && !OF_A_SERVICE.test(name) && !SERVICE_URL.test(value)
      ? [name]
      : [],
  );

const variablesOf = (verbs: readonly Verb[]): ReadonlySet<string> =>
  new Set([
    CONFIG_VARIABLE,
    ...verbs.flatMap(({ options }) =>
      options.filter(({ commandLineOnly }) => !commandLineOnly).map(({ variable }) => variable),
    ),
  ]);

/** What all of them begin with makes no two alike. */
function unknownText(name: string, known: ReadonlySet<string>): string {
  const nearest = nearestName(withoutPrefix(name), [...known].map(withoutPrefix));
  const meant = nearest === undefined ? '' : `; did you mean ${PREFIX}${nearest}?`;
  return `the environment variable ${name} is no setting and is ignored${meant}`;
}

const withoutPrefix = (name: string): string => name.slice(PREFIX.length);
