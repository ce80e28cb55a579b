import { FleetGcError } from '../../packages/process/errors.ts';
import { PRODUCT_COMMIT, PRODUCT_VERSION } from '../../packages/process/product-version.ts';

/** What people typed to get here; help and hints name the program so. */
type ProgramName = 'fleetgc' | 'kubectl fleetgc';

/** What `bin/kubectl-fleetgc` sets. */
const PLUGIN_VARIABLE = 'KUBECTL_PLUGIN_FLEETGC';
type Environment = Readonly<Record<string, string | undefined>>;

export const programName = (environment: Environment): ProgramName =>
  environment[PLUGIN_VARIABLE] === undefined ? 'fleetgc' : 'kubectl fleetgc';

/**
 * A plugin goes by the kubeconfig that kubectl goes by, unless somebody says otherwise. Of several that kubectl would put together none
 * is taken, since that would be another cluster than kubectl's: then --kubeconfig is asked for.
 */
export function pluginEnvironment(environment: Environment): Environment {
  const { KUBECONFIG: named, HOME: home, FLEETGC_KUBECONFIG: own } = environment;
  const standard = home === undefined ? [] : [`${home}/.kube/config`];
  const [kubeconfig, ...others] = named === undefined || named === '' ? standard : filesIn(named);
  return kubeconfig === undefined || others.length > 0 || own !== undefined
    ? environment
    : { ...environment, FLEETGC_KUBECONFIG: kubeconfig };
}

/** As kubectl reads the list: blank places in it name nothing. */
const filesIn = (list: string): readonly string[] =>
  [...new Set(list.split(':'))].filter((file) => file !== '');

/** By its variable: why a setting is missing that whoever typed the command may take for given, as the end of a sentence. */
export function whyMissing(environment: Environment): ReadonlyMap<string, string> {
  const several = filesIn(environment.KUBECONFIG ?? '').length > 1;
  return programName(environment) === 'fleetgc' || !several
    ? new Map()
    : new Map([['FLEETGC_KUBECONFIG', ': KUBECONFIG names several files, so say which of them is meant']]);
}

/** A command, not the name of a file, a user or a metric. */
const COMMAND = /(?<![\w./@-])fleetgc(?= (?:<verb>|--?[a-z]|[a-z])|: )/g;

/** The text with every command in it as it is typed here. */
export const namedAs = (program: ProgramName, text: string): string =>
  program === 'fleetgc' ? text : text.replaceAll(COMMAND, program);

/** Which program this is, in one line for people and for reports of bugs. */
export const versionLine = (node: string, commit = PRODUCT_COMMIT): string =>
  `fleetgc ${PRODUCT_VERSION} (${commit === null ? '' : `commit ${commit}, `}Node.js ${node})`;

type Version = readonly [major: number, minor: number, patch: number];

/**
 * The oldest Node.js of each line that has every repair this program counts on: V8 before them could read an escaped name in JSON as
 * another name that it read earlier (its issue 521080746), so that who wrote one event changed how the next was read. The last
 * line includes what comes after it. `engines` in package.json and `bin/fleetgc` say the same.
 */
const OLDEST: readonly Version[] = [
  [24, 22, 3],
  [26, 12, 1],
];

/** In words, for errors and documents. */
export const SUPPORTED_NODE = '24.22.3 or newer of Node.js 24, or 26.12.1 or newer';

/** Throws `PLATFORM_UNSUPPORTED` on a Node.js that may misread what others wrote. `version` is as in `process.versions.node`. */
export function requireSupportedNode(version: string): void {
  if (isSupportedNode(version)) return;
  throw new FleetGcError(
    'PLATFORM_UNSUPPORTED',
    `Node.js ${version} is not supported, because it can misread JSON that others wrote. Run FleetGC on ${SUPPORTED_NODE}`,
  );
}

export function isSupportedNode(version: string): boolean {
  const [major = Number.NaN, minor = Number.NaN, patch = Number.NaN] = version.split(/[.-]/).map(Number);
  const newest = OLDEST.at(-1);
  if (newest !== undefined && major > newest[0]) return true;
  const oldest = OLDEST.find(([line]) => line === major);
  if (oldest === undefined) return false;
  return minor === oldest[1] ? patch >= oldest[2] : minor > oldest[1];
}
