import { nearestName } from '../packages/text/nearest-name.ts';
import type { Verb } from './framework/verb.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = 'FLEETGC_';
export const CONFIG_VARIABLE = 'FLEETGC_CONFIG';

/** Kubernetes gives every container variables for each service, which may well be called fleetgc. */
const OF_A_SERVICE = /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;
const SERVICE_URL = /^(tcp|udp|sctp):\/\//;

/**
 * One sentence for each variable that looks like a setting and is none of any verb's. The code of the other verbs is
 * only loaded (`allVerbs`) where `verb` alone does not explain them all.
 */
export async function unknownVariables(
  environment: Environment,
  verb: Verb,
  allVerbs: () => Promise<readonly Verb[]>,
): Promise<readonly string[]> {
  const own = variablesOf([verb]);
  const strange = settingsIn(environment).filter((name) => !own.has(name));
  if (strange.length === 0) return [];
  const known = variablesOf(await allVerbs());
  return strange.filter((name) => !known.has(name)).map((name) => sentence(name, known));
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
function sentence(name: string, known: ReadonlySet<string>): string {
  const nearest = nearestName(withoutPrefix(name), [...known].map(withoutPrefix));
  const meant = nearest === undefined ? '' : `; did you mean ${PREFIX}${nearest}?`;
  return `the environment variable ${name} is no setting and is ignored${meant}`;
}

const withoutPrefix = (name: string): string => name.slice(PREFIX.length);
