/** What the list of verbs says about one of them; its options are in the verb itself, which is loaded when needed. */
export interface ListedVerb {
  /** Words separated by spaces, e.g. `policy apply`. */
  readonly name: string;
  readonly summary: string;
  /**
   * `service`: runs until it is told to stop and logs JSON lines unless stderr is a terminal.
   * `task`: does one thing and talks in plain sentences.
   */
  readonly kind: 'service' | 'task';
  /** The switch that makes a service of a task. */
  readonly serviceSwitch?: string;
}

export interface VerbGroup {
  readonly heading: string;
  readonly verbs: readonly ListedVerb[];
}

const service = <const Name extends string>(name: Name, summary: string) =>
  ({ name, summary, kind: 'service' }) as const;
const task = <const Name extends string>(name: Name, summary: string) =>
  ({ name, summary, kind: 'task' }) as const;

/** Every verb, in the order in which help shows them. */
export const VERB_GROUPS = [
  {
    heading: 'One machine:',
    verbs: [
      task('run', 'Run everything on this machine against its container runtime, without Kafka'),
      task('plan', 'Show what would be removed now, in order, and why; removes nothing'),
    ],
  },
  {
    heading: 'Try it out:',
    verbs: [
      task('demo', 'Watch three simulated nodes being cleaned, for half a minute, on this machine'),
      service('simulate-node', 'A simulated node for trying out a fleet, with a real agent and executor'),
      task('simulate-fleet', 'Thousands of simulated nodes on a real log, and an account of every removal'),
    ],
  },
  {
    heading: 'On each node of a fleet:',
    verbs: [
      service('node', 'Run node-agent and node-executor in one process'),
      service('node-agent', 'Report images, containers and disk usage; cannot remove anything'),
      service('node-executor', 'Carry out commands, looking again before each removal'),
    ],
  },
  {
    heading: 'Once per fleet, in any number of replicas:',
    verbs: [
      service('decide', 'Run pressure, container-gc and image-gc in one process'),
      service('pressure', 'Watch disk usage and begin reclaims'),
      service('container-gc', 'Decide which dead containers and sandboxes go'),
      service('image-gc', 'Decide which images go'),
    ],
  },
  {
    heading: 'Set up and steer:',
    verbs: [
      task('topics create', 'Create the topics that are missing; existing ones are not changed'),
      task('topics check', 'Compare the topics with what this release needs'),
      task('policy validate', 'Check policy files; needs no event log'),
      task('policy from-kubelet', 'Make a policy of a kubelet’s configuration file'),
      task('policy apply', 'Make the policies in files hold'),
      task('policy list', 'List the policies and pauses that hold'),
      task('policy show', 'Show one policy, with every default filled in'),
      task('policy effective', 'Which policy holds for a node, and where each value comes from'),
      task('policy delete', 'Delete policies; a node without a policy keeps everything'),
      task('pause', 'Stop all removals, or those on some nodes'),
      task('resume', 'End a pause'),
    ],
  },
  {
    heading: 'How it all stands:',
    verbs: [
      task(
        'status',
        'Brokers, topics, services and their lag, policies, pauses, nodes: what needs a person?',
      ),
      task('nodes', 'Every node: last heard, how full, which policy in which mode, versions, warnings'),
    ],
  },
  {
    heading: 'Ask the event log:',
    verbs: [
      task('audit verify', 'Prove the log: decide everything again, and follow every command and removal'),
      task('audit explain', 'What became of an image, container, pod or node, when, and by which rule'),
      task(
        'audit simulate',
        'Run other policies over the recorded past: what would have gone, and been missed?',
      ),
      task('audit report', 'What was freed, removed, refused and pulled again, for people'),
      {
        ...task('audit archive', 'Copy the log into Parquet files, which outlast its retention'),
        serviceSwitch: 'follow',
      },
      task('audit archive check', 'Was anything in an archive changed, added or removed?'),
      task('audit query', 'Ask an archive in SQL'),
    ],
  },
  {
    heading: 'Messages that could not be processed:',
    verbs: [
      task('dead-letters list', 'List them, oldest first'),
      task('dead-letters show', 'Show one, with its cause and content'),
      task('dead-letters redrive', 'Put them back on their topics, once the cause is mended'),
    ],
  },
] as const satisfies readonly VerbGroup[];

export type VerbName = (typeof VERB_GROUPS)[number]['verbs'][number]['name'];

/** Summaries of the words under which several verbs stand. */
export const VERB_FAMILIES: Readonly<Record<string, string>> = {
  topics: 'Create and check the topics',
  policy: 'Check, apply and look at policies',
  audit: 'Ask the event log what was decided and done, and why',
  'dead-letters': 'Look at messages that could not be processed, and put them back',
};

export const ALL_VERBS: readonly ListedVerb[] = VERB_GROUPS.flatMap(({ verbs }) => [...verbs]);

/** Name and summary, for the definition of the verb. */
export function about(name: VerbName): Pick<ListedVerb, 'name' | 'summary'> {
  const listed = ALL_VERBS.find((verb) => verb.name === name);
  if (!listed) throw new TypeError(`${name} is not in the list of verbs`);
  return { name, summary: listed.summary };
}
