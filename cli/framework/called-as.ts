/** What people typed to get here; help and hints name the program so. */
export type ProgramName = 'fleetgc' | 'kubectl fleetgc';

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
