import type { Verb } from './verb.ts';

/*
 * What people type who know kubectl, and what they are told where a verb has it not.
 */

const ONE_FORM = 'this verb prints in one form alone';
const NO_NAMESPACE = 'what this verb tells of is in no namespace, or of all of them';
const ALL_NAMESPACES = 'what is in namespaces is always shown of all of them';
const NO_API_SERVER = 'this verb asks no API server, and the event log has no contexts';

const TOLD: ReadonlyMap<string, string> = new Map([
  ['-o', ONE_FORM],
  ['--output', ONE_FORM],
  ['-n', NO_NAMESPACE],
  ['--namespace', NO_NAMESPACE],
  ['-A', ALL_NAMESPACES],
  ['--all-namespaces', ALL_NAMESPACES],
  ['--context', NO_API_SERVER],
  ['--kubeconfig', NO_API_SERVER],
]);

/** Why the verb has not this flag of kubectl; `undefined` for any other. */
export function whyNoFlag(flag: string, { options }: Verb): string | undefined {
  const hasNamespace = options.some(({ key }) => key === 'namespace');
  if (TOLD.get(flag) === ALL_NAMESPACES && hasNamespace) return 'name one namespace with -n';
  return TOLD.get(flag);
}

/** kubectl takes `-o=json` too. What follows `--` is no option. */
export function withoutSignBehindShortFlags(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return args.flatMap((arg, index) => {
    const [, flag = '', value = ''] = /^(-[a-zA-Z])=(.*)$/s.exec(arg) ?? [];
    return flag === '' || (end >= 0 && index > end) ? [arg] : [flag, value];
  });
}
