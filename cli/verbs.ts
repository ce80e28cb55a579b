import { DECIDERS } from '../packages/deciders/registry.ts';
import { FleetGcError } from '../packages/process/errors.ts';
import { nearestName } from '../packages/text/nearest-name.ts';
import { AnyDeciderName } from '../schemas/events/deciders.ts';
import { type ListedVerb, loadVerb, service, task, type Verb, type VerbGroup } from './framework/verb.ts';

/** The verbs that one file holds. It is read when one of them is used. */
const family =
  <Verbs>(load: () => Promise<Verbs>) =>
  <Name extends keyof Verbs>(name: Name) =>
  async (): Promise<Verbs[Name]> =>
    (await load())[name];

const about = family(() => import('./verbs/about.ts'));
const audit = family(() => import('./verbs/audit.ts'));
const auditArchive = family(() => import('./verbs/audit-archive.ts'));
const auditReplay = family(() => import('./verbs/audit-replay.ts'));
const cluster = family(() => import('./verbs/cluster.ts'));
const clusterRun = family(() => import('./verbs/cluster-run.ts'));
const criProxy = family(() => import('./verbs/cri-proxy.ts'));
const dashboard = family(() => import('./verbs/dashboard.ts'));
const deadLetters = family(() => import('./verbs/dead-letters.ts'));
const decide = family(() => import('./verbs/decide.ts'));
const doctor = family(() => import('./verbs/doctor.ts'));
const held = family(() => import('./verbs/held.ts'));
const keyFiles = family(() => import('./verbs/key-files.ts'));
const keys = family(() => import('./verbs/keys.ts'));
const node = family(() => import('./verbs/node.ts'));
const notify = family(() => import('./verbs/notify.ts'));
const oneMachine = family(() => import('./verbs/one-machine.ts'));
const pause = family(() => import('./verbs/pause.ts'));
const policy = family(() => import('./verbs/policy.ts'));
const policyController = family(() => import('./verbs/policy-controller.ts'));
const policyFiles = family(() => import('./verbs/policy-files.ts'));
const simulated = family(() => import('./verbs/simulated.ts'));
const status = family(() => import('./verbs/status.ts'));
const topics = family(() => import('./verbs/topics.ts'));

const deciderEntry = <Name extends AnyDeciderName>(name: Name) =>
  service(name, DECIDERS[name].summary, async () => (await decide('deciderVerb')())(name));

/**
 * Every verb, in the order in which help shows them: its name, its line of help, and where the rest of it is, which is read only when it is
 * used. To add a verb, add a row here, and its definition in the file of its family in `cli/verbs/`.
 */
export const VERB_GROUPS = [
  {
    heading: 'One machine:',
    verbs: [
      task(
        'run',
        'Run everything on this machine against its container runtime, without Kafka',
        oneMachine('runVerb'),
      ),
      task(
        'plan',
        'Show what would be removed now, in order, and why; removes nothing',
        oneMachine('planVerb'),
      ),
    ],
  },
  {
    heading: 'One Kubernetes cluster:',
    verbs: [
      task(
        'cluster run',
        'Collect orphaned and expired objects of one cluster, without Kafka',
        clusterRun('runVerb'),
      ),
      task(
        'cluster plan',
        'Show what would be done in a cluster now, and why; changes nothing',
        cluster('planVerb'),
      ),
      task(
        'cascade',
        'Show what the deletion of one object would take along; changes nothing',
        cluster('cascadeVerb'),
      ),
      task(
        'cluster report',
        'Show what is stuck in a cluster, and which references lead nowhere',
        status('clusterReportVerb'),
      ),
      task(
        'cluster leftovers',
        'Show volumes, Jobs, Nodes, Leases, ConfigMaps and Secrets that seem to be left over',
        cluster('leftoversVerb'),
      ),
      task(
        'cluster rbac',
        'Print the account, the rights and the limits that cluster run needs',
        cluster('rbacVerb'),
      ),
      task(
        'cluster guard',
        'Print what stops kube-controller-manager from deleting what a policy holds or keeps',
        cluster('guardVerb'),
      ),
    ],
  },
  {
    heading: 'What is held in Kubernetes clusters, and what went:',
    verbs: [
      task('held', 'List what is held, by which rule, and what approves it', held('heldVerb')),
      task('approve', 'Approve held objects for removal, within the limits shown', held('approveVerb')),
      task('undo', 'Print what creates deleted objects again; changes nothing', held('undoVerb')),
    ],
  },
  {
    heading: 'For each Kubernetes cluster of a fleet:',
    verbs: [
      service(
        'cluster agent',
        'Report objects for which something may have to be done; cannot change any',
        clusterRun('agentVerb'),
      ),
      service(
        'cluster executor',
        'Carry out commands about objects, looking again before each removal',
        clusterRun('executorVerb'),
      ),
      service(
        'policy-controller',
        'Bring policies that lie in a cluster as Kubernetes objects to the event log',
        policyController('policyControllerVerb'),
      ),
    ],
  },
  {
    heading: 'Try it out:',
    verbs: [
      task(
        'demo',
        'Watch three simulated nodes, and then a small cluster, being cleaned on this machine',
        simulated('demoVerb'),
      ),
      service(
        'simulate-node',
        'Run one simulated node with a real agent and executor, to try out a fleet',
        simulated('simulateNodeVerb'),
      ),
      task(
        'simulate-fleet',
        'Run thousands of simulated nodes on a real log, and account for every removal',
        simulated('simulateFleetVerb'),
      ),
    ],
  },
  {
    heading: 'On each node of a fleet:',
    verbs: [
      service('node', 'Run node-agent and node-executor in one process', node('nodeVerb')),
      service(
        'node-agent',
        'Report images, containers and disk usage; cannot remove anything',
        node('nodeAgentVerb'),
      ),
      service(
        'node-executor',
        'Carry out commands, looking again before each removal',
        node('nodeExecutorVerb'),
      ),
      service(
        'cri-proxy',
        'Offer a socket on which the runtime can be read, and nothing else',
        criProxy('criProxyVerb'),
      ),
    ],
  },
  {
    heading: 'Once per fleet, in any number of replicas:',
    verbs: [
      service(
        'decide',
        'Run pressure, container-gc, image-gc, graph-gc, expiry-gc and pod-gc in one process',
        decide('decideVerb'),
      ),
      ...AnyDeciderName.options.map(deciderEntry),
      service(
        'serve',
        'Serve one of them as a function of one event: CloudEvents in, decisions out',
        decide('serveVerb'),
      ),
    ],
  },
  {
    heading: 'Set up and steer:',
    verbs: [
      task(
        'topics create',
        'Create the topics that are missing; existing ones are not changed',
        topics('createVerb'),
      ),
      task('topics check', 'Compare the topics with what this release needs', topics('checkVerb')),
      task(
        'topics acls',
        'Print or add the access rules that each role needs on the brokers',
        topics('aclsVerb'),
      ),
      task('policy validate', 'Check policy files; needs no event log', policyFiles('validateVerb')),
      task(
        'policy from-kubelet',
        'Make a policy from a kubelet’s configuration file',
        policyFiles('fromKubeletVerb'),
      ),
      task('policy apply', 'Put the policies in files into force', policy('applyVerb')),
      task('policy list', 'List the policies and pauses in force', policy('listVerb')),
      task('policy show', 'Show one policy, with every default filled in', policy('showVerb')),
      task(
        'policy effective',
        'Show which policy is in force for a node, and where each value comes from',
        policy('effectiveVerb'),
      ),
      task(
        'policy delete',
        'Delete policies; a node without a policy keeps everything',
        policy('deleteVerb'),
      ),
      task('policy sign', 'Sign what is in force and carries no signature that counts', policy('signVerb')),
      task(
        'policy export',
        'Write the policies in force, with the keys that vouch for them, as one document',
        policy('exportVerb'),
      ),
      task('pause', 'Stop all removals, or those on some nodes', pause('pauseVerb')),
      task('resume', 'End a pause', pause('resumeVerb')),
    ],
  },
  {
    heading: 'Keys, which sign orders and policies:',
    verbs: [
      task('keys create', 'Make a key pair', keyFiles('createVerb')),
      task('keys roots', 'Write the file that says whom nodes and services believe', keyFiles('rootsVerb')),
      task(
        'keys certify',
        'Say as a root what a key may sign, for which clusters, and until when',
        keys('certifyVerb'),
      ),
      task('keys revoke', 'Take a key back as a root, for good', keys('revokeVerb')),
      task('keys publish', 'Bring what a root signed offline to the event log', keys('publishVerb')),
      task('keys list', 'List the keys that the roots vouch for', keys('listVerb')),
      task('keys check', 'Check roots, keys, and when they end', keys('checkVerb')),
      task('keys verify', 'Verify who signed the given events', keys('verifyVerb')),
    ],
  },
  {
    heading: 'See how the fleet is doing:',
    verbs: [
      task(
        'status',
        'Show what needs attention: brokers, topics, services, policies, pauses, nodes, clusters',
        status('statusVerb'),
      ),
      task(
        'nodes',
        'List every node: last heard, how full, its policy and mode, version, warnings',
        status('nodesVerb'),
      ),
      task(
        'doctor node',
        'Check this node: runtime, kubelet, event log, rights, clock, keys, policy; changes nothing',
        doctor('nodeVerb'),
      ),
      task(
        'doctor decide',
        'Check what a decision service needs: event log, rights, clock, keys, policies; changes nothing',
        doctor('decideVerb'),
      ),
      task(
        'doctor cluster',
        'Check what a cluster needs: API server, rights, Lease, event log, keys, agent, policy; changes nothing',
        doctor('clusterVerb'),
      ),
      service(
        'dashboard',
        'Serve a page for the browser: every node, what is removed now and why, a search',
        dashboard('dashboardVerb'),
      ),
      service(
        'notify',
        'Tell people what happens: webhooks, chats, Kubernetes Events on nodes',
        notify('notifyVerb'),
      ),
      task('notify check', 'Check a rule file of notices, and the files that it names', notify('checkVerb')),
      task('notify rbac', 'Print the account and the rights that Events on nodes need', notify('rbacVerb')),
    ],
  },
  {
    heading: 'Ask the event log:',
    verbs: [
      task(
        'audit verify',
        'Check the event log: make every decision again, and trace every command and removal',
        auditReplay('verifyVerb'),
      ),
      task(
        'audit explain',
        'Tell what happened to an image, container, pod, node or object of a cluster, and by which rule',
        audit('explainVerb'),
      ),
      task(
        'audit simulate',
        'Run other policies over the recorded past, and compare what they remove',
        auditReplay('simulateVerb'),
      ),
      task(
        'audit report',
        'Report what was freed, removed, held, refused and pulled again',
        audit('reportVerb'),
      ),
      {
        ...task(
          'audit archive',
          'Copy the event log into Parquet files, which outlast its retention',
          auditArchive('archiveVerb'),
        ),
        serviceSwitch: 'follow',
      },
      task(
        'audit archive check',
        'Check that nothing in an archive was changed, added or removed',
        auditArchive('checkVerb'),
      ),
      task('audit query', 'Ask an archive in SQL', auditArchive('queryVerb')),
      task('audit events', 'Print records as CloudEvents, with their exact bytes', audit('eventsVerb')),
    ],
  },
  {
    heading: 'Messages that could not be processed:',
    verbs: [
      task('dead-letters list', 'List them, oldest first', deadLetters('listVerb')),
      task('dead-letters show', 'Show one, with its cause and content', deadLetters('showVerb')),
      task(
        'dead-letters redrive',
        'Put them back on their topics, once the cause is mended',
        deadLetters('redriveVerb'),
      ),
    ],
  },
  {
    heading: 'This command:',
    verbs: [
      task(
        'version',
        'Show the release, the commit that it was built of, and its deciders',
        about('versionVerb'),
      ),
      task(
        'completion',
        'Print what completes verbs and options in bash, zsh or fish',
        about('completionVerb'),
      ),
    ],
  },
] as const satisfies readonly VerbGroup[];

export const ALL_VERBS: readonly ListedVerb[] = VERB_GROUPS.flatMap(({ verbs }) => [...verbs]);

type VerbName = (typeof VERB_GROUPS)[number]['verbs'][number]['name'];
/** A word under which several verbs stand, e.g. `policy`. */
export type VerbFamily = VerbName extends infer Name
  ? Name extends `${infer Family} ${string}`
    ? Family
    : never
  : never;

export const VERB_FAMILIES: Readonly<Record<VerbFamily, string>> = {
  cluster: 'Collect orphaned and expired objects of Kubernetes clusters',
  topics: 'Create and check the topics, and who may use them',
  policy: 'Check, apply and look at policies',
  keys: 'Make, certify, revoke and list keys',
  doctor: 'Check what stands in the way, and say what to do',
  audit: 'Ask the event log what was decided and done, and why',
  notify: 'Tell people what happens, by a rule file',
  'dead-letters': 'Look at messages that could not be processed, and put them back',
};

const isFamily = (word: string): word is VerbFamily => Object.hasOwn(VERB_FAMILIES, word);

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

/** The code of every verb. */
export const loadAllVerbs = (): Promise<readonly Verb[]> => Promise.all(ALL_VERBS.map(loadVerb));
