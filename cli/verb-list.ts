import { ASKING_VERBS } from './asking-verbs.ts';
import { CLUSTER_VERBS } from './cluster-verbs.ts';
import { DECIDING_VERBS } from './deciding-verbs.ts';
import { type ListedVerb, service, task, type VerbGroup } from './framework/verb.ts';

/**
 * Every verb, in the order in which help shows them: its name, its line of help, and where the rest of it is, which is
 * read only when it is used. To add a verb, add a row here, or in what it
 * takes in, and its file in `cli/verbs/`, where its name says.
 */
export const VERB_GROUPS = [
  {
    heading: 'One machine:',
    verbs: [
      task(
        'run',
        'Run everything on this machine against its container runtime, without Kafka',
        () => import('./verbs/run.ts'),
      ),
      task(
        'plan',
        'Show what would be removed now, in order, and why; removes nothing',
        () => import('./verbs/plan.ts'),
      ),
    ],
  },
  ...CLUSTER_VERBS,
  {
    heading: 'Try it out:',
    verbs: [
      task(
        'demo',
        'Watch three simulated nodes, and then a small cluster, being cleaned on this machine',
        () => import('./verbs/demo.ts'),
      ),
      service(
        'simulate-node',
        'Run one simulated node with a real agent and executor, to try out a fleet',
        () => import('./verbs/simulate-node.ts'),
      ),
      task(
        'simulate-fleet',
        'Run thousands of simulated nodes on a real log, and account for every removal',
        () => import('./verbs/simulate-fleet.ts'),
      ),
    ],
  },
  {
    heading: 'On each node of a fleet:',
    verbs: [
      service('node', 'Run node-agent and node-executor in one process', () => import('./verbs/node.ts')),
      service(
        'node-agent',
        'Report images, containers and disk usage; cannot remove anything',
        () => import('./verbs/node-agent.ts'),
      ),
      service(
        'node-executor',
        'Carry out commands, looking again before each removal',
        () => import('./verbs/node-executor.ts'),
      ),
      service(
        'cri-proxy',
        'Offer a socket on which the runtime can be read, and nothing else',
        () => import('./verbs/cri-proxy.ts'),
      ),
    ],
  },
  ...DECIDING_VERBS,
  {
    heading: 'Set up and steer:',
    verbs: [
      task(
        'topics create',
        'Create the topics that are missing; existing ones are not changed',
        () => import('./verbs/topics/create.ts'),
      ),
      task(
        'topics check',
        'Compare the topics with what this release needs',
        () => import('./verbs/topics/check.ts'),
      ),
      task(
        'topics acls',
        'Print or add the access rules that each role needs on the brokers',
        () => import('./verbs/topics/acls.ts'),
      ),
      task(
        'policy validate',
        'Check policy files; needs no event log',
        () => import('./verbs/policy/validate.ts'),
      ),
      task(
        'policy from-kubelet',
        'Make a policy from a kubelet’s configuration file',
        () => import('./verbs/policy/from-kubelet.ts'),
      ),
      task('policy apply', 'Put the policies in files into force', () => import('./verbs/policy/apply.ts')),
      task('policy list', 'List the policies and pauses in force', () => import('./verbs/policy/list.ts')),
      task(
        'policy show',
        'Show one policy, with every default filled in',
        () => import('./verbs/policy/show.ts'),
      ),
      task(
        'policy effective',
        'Show which policy is in force for a node, and where each value comes from',
        () => import('./verbs/policy/effective.ts'),
      ),
      task(
        'policy delete',
        'Delete policies; a node without a policy keeps everything',
        () => import('./verbs/policy/delete.ts'),
      ),
      task(
        'policy sign',
        'Sign what is in force and carries no signature that counts',
        () => import('./verbs/policy/sign.ts'),
      ),
      task(
        'policy export',
        'Write the policies in force, with the keys that vouch for them, as one document',
        () => import('./verbs/policy/export.ts'),
      ),
      task('pause', 'Stop all removals, or those on some nodes', () => import('./verbs/pause.ts')),
      task('resume', 'End a pause', () => import('./verbs/resume.ts')),
    ],
  },
  {
    heading: 'Keys, which sign orders and policies:',
    verbs: [
      task('keys create', 'Make a key pair', () => import('./verbs/keys/create.ts')),
      task(
        'keys roots',
        'Write the file that says whom nodes and services believe',
        () => import('./verbs/keys/roots.ts'),
      ),
      task(
        'keys certify',
        'Say as a root what a key may sign, for which clusters, and until when',
        () => import('./verbs/keys/certify.ts'),
      ),
      task('keys revoke', 'Take a key back as a root, for good', () => import('./verbs/keys/revoke.ts')),
      task(
        'keys publish',
        'Bring what a root signed offline to the event log',
        () => import('./verbs/keys/publish.ts'),
      ),
      task('keys list', 'List the keys that the roots vouch for', () => import('./verbs/keys/list.ts')),
      task('keys check', 'Check roots, keys, and when they end', () => import('./verbs/keys/check.ts')),
      task(
        'keys verify',
        'Say of events that somebody brings who signed them',
        () => import('./verbs/keys/verify.ts'),
      ),
    ],
  },
  {
    heading: 'See how the fleet is doing:',
    verbs: [
      task(
        'status',
        'Show what needs attention: brokers, topics, services, policies, pauses, nodes, clusters',
        () => import('./verbs/status.ts'),
      ),
      task(
        'nodes',
        'List every node: last heard, how full, its policy and mode, version, warnings',
        () => import('./verbs/nodes.ts'),
      ),
      task(
        'doctor node',
        'Check this node: runtime, kubelet, event log, rights, clock, keys, policy; changes nothing',
        () => import('./verbs/doctor/node.ts'),
      ),
      task(
        'doctor decide',
        'Check what a decision service needs: event log, rights, clock, keys, policies; changes nothing',
        () => import('./verbs/doctor/decide.ts'),
      ),
      task(
        'doctor cluster',
        'Check what a cluster needs: API server, rights, Lease, event log, keys, agent, policy; changes nothing',
        () => import('./verbs/doctor/cluster.ts'),
      ),
      service(
        'dashboard',
        'Serve a page for the browser: every node, what is removed now and why, a search',
        () => import('./verbs/dashboard.ts'),
      ),
      service(
        'notify',
        'Tell people what happens: webhooks, chats, Kubernetes Events on nodes',
        () => import('./verbs/notify.ts'),
      ),
      task(
        'notify check',
        'Check a rule file of notices, and the files that it names',
        () => import('./verbs/notify/check.ts'),
      ),
      task(
        'notify rbac',
        'Print the account and the rights that Events on nodes need',
        () => import('./verbs/notify/rbac.ts'),
      ),
    ],
  },
  ...ASKING_VERBS,
  {
    heading: 'This command:',
    verbs: [
      task(
        'version',
        'Show the release, the commit that it was built of, and its deciders',
        () => import('./verbs/version.ts'),
      ),
      task(
        'completion',
        'Print what completes verbs and options in bash, zsh or fish',
        () => import('./verbs/completion.ts'),
      ),
    ],
  },
] as const satisfies readonly VerbGroup[];

export const ALL_VERBS: readonly ListedVerb[] = VERB_GROUPS.flatMap(({ verbs }) => [...verbs]);
