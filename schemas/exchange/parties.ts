/** Who comes to the event log. The names are those of `services/`; people and their tools have one for each kind of use. */
export const PARTIES = {
  'node-agent': 'Runs on each node: reports what is there, and looks again when it is asked.',
  'node-executor': 'Runs on each node: checks commands again, removes, and reports what came of them.',
  'cluster-agent': 'Runs once for each cluster: reports the objects of which some may have to go.',
  'cluster-executor':
    'Runs once for each cluster: checks commands again, removes, and reports what came of them.',
  pressure: 'Decides when a disk is so full that a node has to look for what can go.',
  'container-gc': 'Decides which containers, sandboxes and pod logs of a node go.',
  'image-gc': 'Decides which images of a node go.',
  'graph-gc': 'Decides which objects of a cluster go as their owners are gone.',
  'pod-gc': 'Decides which pods of a cluster go as they have ended or their node is gone.',
  'expiry-gc': 'Decides which objects of a cluster go as their time is over.',
  operator:
    'People with a shell: they apply policies, pause, approve, certify keys, and put dead letters back.',
  dashboard:
    'The page of the fleet, where its actions are on: people pause, approve, and put dead letters back.',
  'policy-controller':
    'Runs once for each cluster: brings the policies that lie there as Kubernetes objects.',
  archiver: 'Copies the log into an archive, and says under a signature how much it has.',
  reader: 'Reads all topics and changes nothing: audit, status, the page of the fleet.',
  notifier: 'Tells people what happens: webhooks, chats, Kubernetes Events.',
} as const satisfies Readonly<Record<string, string>>;
export type PartyId = keyof typeof PARTIES;

export const NODE_DECIDERS = ['pressure', 'container-gc', 'image-gc'] as const satisfies readonly PartyId[];
export const CLUSTER_DECIDERS = ['graph-gc', 'pod-gc', 'expiry-gc'] as const satisfies readonly PartyId[];
export const DECIDERS = [...NODE_DECIDERS, ...CLUSTER_DECIDERS] as const;
export const NODE = ['node-agent', 'node-executor'] as const satisfies readonly PartyId[];
export const CLUSTER = ['cluster-agent', 'cluster-executor'] as const satisfies readonly PartyId[];
export const PEOPLE = ['operator', 'dashboard'] as const satisfies readonly PartyId[];
export const EVERY_CONSUMER = [...NODE, ...CLUSTER, ...DECIDERS] as const;

/** A fact says what somebody saw or did; an order asks for something; state holds until something replaces it. */
export type EventKind = 'fact' | 'order' | 'state';

/** How one event comes to a topic. */
export interface Sending {
  readonly says: string;
  readonly by: readonly PartyId[];
}

export interface TopicExchange {
  readonly kind: EventKind;
  readonly says: string;
  /** By CloudEvents type: every event that may stand there. */
  readonly sent: Readonly<Record<string, Sending>>;
  /** Who acts on it, beside those that read every topic. */
  readonly readBy: readonly PartyId[];
}

/** Who reads every topic, whatever is on it. */
export const READERS_OF_ALL = [
  'operator',
  'dashboard',
  'archiver',
  'reader',
] as const satisfies readonly PartyId[];
